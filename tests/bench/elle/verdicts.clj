;; Elle's verdicts on histories that kafka-chaos exported: the anomalies of each, one line per file.
;; Elle searches and names the cycles, and makes the realtime edges; the others are made here of the sends and
;; polls in the history, as Jepsen's Kafka workload defines them, with rw in addition.
(ns verdicts
  (:require [clojure.edn :as edn]
            [clojure.java.io :as io]
            [clojure.string :as str]
            [elle.core :as elle]
            [elle.graph :as g]
            [elle.txn :as txn]))

(defn operations
  "The transactions and polls of a file, in order, with dense indexes."
  [file]
  (with-open [lines (io/reader file)]
    (->> (line-seq lines)
         (map edn/read-string)
         (filter (comp #{:txn :send :poll} :f))
         (map-indexed (fn [index op] (assoc op :index index)))
         vec)))

(defn sends [op]
  (for [[f k v] (:value op) :when (= f :send)] (if (vector? v) [k (second v)] [k v])))

(defn polled
  "[key offset value] of the records that an operation polled."
  [op]
  (for [[f by-key] (:value op) :when (and (= f :poll) by-key), [k pairs] by-key, [offset v] pairs]
    [k offset v]))

(defn edges
  "{kind #{[a b]}}, between operations that ended and did not fail."
  [history]
  (let [ended     (filter (comp #{:ok :info} :type) history)
        writer    (into {} (for [op ended, [_ v] (sends op)] [v op]))
        readers   (filter (comp #{:ok} :type) ended)
        records   (into #{} (concat (mapcat polled readers)
                                    (for [op readers, [f k v] (:value op)
                                          :when (and (= f :send) (vector? v) (first v))]
                                      [k (first v) (second v)])))
        logs      (into {} (for [[k several] (group-by first records)]
                             [k (filter (comp writer last) (sort-by second several))]))
        following (into {} (for [[_ log] logs, [[k offset _] [_ _ v]] (partition 2 1 log)]
                             [[k offset] (writer v)]))
        last-of   (fn [op] (for [[k several] (group-by first (polled op))] [k (apply max (map second several))]))
        pairs     (fn [several] (into #{} (filter (fn [[a b]] (and a b (not= a b)))) several))]
    {:ww (pairs (for [[_ log] logs, [a b] (partition 2 1 log)] [(writer (last a)) (writer (last b))]))
     :wr (pairs (for [op readers, [_ _ v] (polled op)] [(writer v) op]))
     :rw (pairs (for [op readers, at (last-of op)] [op (following at)]))}))

(defn analyzer
  "Edges of one kind, as Elle takes them."
  [kind pairs]
  (fn [_]
    {:graph     (g/forked (reduce (fn [graph [a b]] (g/link graph a b kind)) (g/linear (g/digraph)) pairs))
     :explainer (reify elle/DataExplainer
                  (explain-pair-data [_ a b] (when (pairs [a b]) {:type kind}))
                  (render-explanation [_ _ a b] (str a " before " b)))}))

(defn anomalies
  "The names of the anomalies that Elle finds among edges of these kinds."
  [history of kinds]
  (let [graphs (for [kind kinds] (if (= kind :realtime) elle/realtime-graph (analyzer kind (of kind))))
        found  (txn/cycles! {:consistency-models [:strict-serializable]} (apply elle/combine graphs) history)]
    ;; A cycle that Elle names otherwise than the search that found it has no name.
    (->> (:anomalies found) keys (remove nil?) (map name) sort)))

(doseq [file (sort (map str (filter #(str/ends-with? (.getName %) ".edn")
                                    (.listFiles (io/file (first *command-line-args*))))))]
  (let [history (operations file)
        of      (edges history)]
    (println (str/join "\t" (cons (str/replace (.getName (io/file file)) ".edn" "")
                                  (for [kinds [[:wr :realtime] [:ww :wr] [:ww :wr :rw]]]
                                    (or (not-empty (str/join "," (anomalies history of kinds))) "-")))))))
(shutdown-agents)
