using System;
using System.Globalization;
using System.IO;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;

namespace KafkaChaos
{
    /// <summary>
    /// Journals what a producer of yours sends and what is reported of it, so that kafka-chaos can account for every
    /// record. Copy this file into your project. It needs C# 7 and nothing but the base class library.
    /// <code>
    /// var journal = Journal.Begin(new Settings("Confluent.Kafka 2.16.0", "all", idempotent: true));
    /// var send = journal.Sent(key, value); // before each send
    /// message.Headers.Add(Journal.IdentityHeader, send.Identity);
    /// producer.Produce(journal.Topic, message, report => {
    ///     if (report.Error.IsError) journal.Failed(send.Seq, report.Error.Code.ToString());
    ///     else journal.Acked(send.Seq, report.Partition.Value, report.Offset.Value);
    /// });
    /// journal.End(); // once every report is there
    /// </code>
    /// docs/how-to/own-producer.md of kafka-chaos describes the events; `kafka-chaos own --check FOLDER` reads them.
    /// </summary>
    /// <remarks>
    /// Threads may share a journal. If they share the producer too and the order of its records matters, hold a lock
    /// of your own around <see cref="Sent"/> and the client's send.
    /// </remarks>
    public sealed class Journal : IDisposable
    {
        /// <summary>The name of the header that each record carries.</summary>
        public const string IdentityHeader = "kafka-chaos-identity";

        private const uint Magic = 0x4b434831;
        private const int HeadBytes = 24;
        private const int LongestError = 200;
        private const int PollMs = 50;
        private static readonly uint[] CrcTable = MakeCrcTable();

        private readonly object _lock = new object();
        private readonly long _run;
        private readonly string _folder;
        private readonly FileStream _file;
        private long _next;
        private bool _ended;

        private Journal(Settings settings)
        {
            _folder = Variable("KAFKA_CHAOS_JOURNAL");
            Topic = Variable("KAFKA_CHAOS_TOPIC");
            _run = long.Parse(Variable("KAFKA_CHAOS_RUN"), NumberStyles.None, CultureInfo.InvariantCulture);
            Directory.CreateDirectory(_folder);
            // The first number that is free.
            while (_file == null)
            {
                string path = Path.Combine(_folder, Text($"{Producer}.jsonl"));
                try
                {
                    _file = new FileStream(path, FileMode.CreateNew, FileAccess.Write, FileShare.ReadWrite);
                }
                catch (IOException) when (File.Exists(path))
                {
                    Producer++;
                }
            }
            Write(Text(
                $"{{\"event\": \"begin\", \"producer\": {Producer}, \"run\": {_run}, \"topic\": {Quoted(Topic)}") +
                settings.Fields() + "}");
        }

        /// <summary>The number of the producer.</summary>
        public int Producer { get; }

        /// <summary>The topic whose records are journaled.</summary>
        public string Topic { get; }

        /// <summary>
        /// Whether the write steps are over: a program that writes without end stops now, and <see cref="End"/> follows
        /// within `close_seconds` of the run.
        /// </summary>
        public bool Over => File.Exists(Path.Combine(_folder, "over"));

        /// <summary>Opens the journal of a new producer in the folder that the environment names.</summary>
        public static Journal Begin(Settings settings) => new Journal(settings);

        /// <summary>
        /// Journals a record before it is handed to the client. Without a partition the client chooses one; without a
        /// timestamp (milliseconds since the epoch) it takes the time of the send. The id is the record's own
        /// ("order-11"), by which it is judged, too, where the run says that records have one.
        /// </summary>
        public Send Sent(
            byte[] key, byte[] value, int? partition = null, int? transaction = null, long? timestampMs = null,
            string id = null)
        {
            byte[] content = value ?? new byte[0];
            string more = key == null ? "" : $", \"key_base64\": \"{Convert.ToBase64String(key)}\"";
            more += Field("partition", partition) + Field("txn", transaction) + Field("timestamp_ms", timestampMs);
            more += id == null ? "" : $", \"id\": {Quoted(id)}";
            lock (_lock)
            {
                if (_ended)
                {
                    throw new ObjectDisposedException(nameof(Journal), "the journal of this producer is closed");
                }
                long seq = _next;
                more = Text($", \"time_ms\": {NowMs()}, \"size\": {content.Length}") + more;
                Write(Text($"{{\"event\": \"sent\", \"seq\": {seq}{more}}}"));
                _next++;
                return new Send(seq, Identity(_run, Producer, seq, content));
            }
        }

        /// <summary>
        /// Journals a success report. The partition and the offset are -1 if the client does not name them.
        /// </summary>
        public void Acked(long seq, int partition = -1, long offset = -1)
        {
            string where = Field("partition", Math.Max(partition, -1)) + Field("offset", Math.Max(offset, -1));
            Append("acked", Text($"\"seq\": {seq}"), where);
        }

        /// <summary>
        /// Journals an error report: the record may be in the log or not. <paramref name="error"/> is the client's name
        /// for the error.
        /// </summary>
        public void Failed(long seq, string error) =>
            Append("failed", Text($"\"seq\": {seq}"), $", \"error\": {Quoted(Word(error))}");

        /// <summary>
        /// Journals that the client refused the record before it queued it, so that it was certainly not written.
        /// </summary>
        public void Refused(long seq, string error) =>
            Append("refused", Text($"\"seq\": {seq}"), $", \"error\": {Quoted(Word(error))}");

        /// <summary>Journals that a broker confirmed the commit of a transaction.</summary>
        public void Committed(int transaction) => Append("committed", Text($"\"txn\": {transaction}"), "");

        /// <summary>Journals that a broker confirmed the abort of a transaction.</summary>
        public void Aborted(int transaction) => Append("aborted", Text($"\"txn\": {transaction}"), "");

        /// <summary>Journals that a commit was asked for and nobody said how the transaction ended.</summary>
        public void Indeterminate(int transaction) => Append("indeterminate", Text($"\"txn\": {transaction}"), "");

        /// <summary>
        /// Waits until the first write step of the run has begun, at most <paramref name="timeout"/>; returns whether
        /// it has.
        /// </summary>
        public bool WaitBegun(TimeSpan timeout)
        {
            var since = System.Diagnostics.Stopwatch.StartNew();
            while (!File.Exists(Path.Combine(_folder, "begun")))
            {
                if (since.Elapsed >= timeout)
                {
                    return false;
                }
                Thread.Sleep(PollMs);
            }
            return true;
        }

        /// <summary>
        /// Closes the journal, once every report is there. Sends without a report may be in the log or not. Safe to
        /// call again.
        /// </summary>
        public void End()
        {
            lock (_lock)
            {
                if (!_ended)
                {
                    Write("{\"event\": \"end\"}");
                    _ended = true;
                    _file.Dispose();
                }
            }
        }

        /// <inheritdoc/>
        public void Dispose() => End();

        /// <summary>
        /// The value of the header of a record: magic, run, producer and seq, big endian, and the CRC-32C of these and
        /// of the record's value.
        /// </summary>
        public static byte[] Identity(long run, int producer, long seq, byte[] value)
        {
            var identity = new byte[HeadBytes + sizeof(uint)];
            PutBigEndian(identity, 0, Magic, sizeof(uint));
            PutBigEndian(identity, 4, (ulong)run, sizeof(ulong));
            PutBigEndian(identity, 12, (uint)producer, sizeof(uint));
            PutBigEndian(identity, 16, (ulong)seq, sizeof(ulong));
            uint crc = Crc32C(uint.MaxValue, identity, HeadBytes);
            crc = Crc32C(crc, value ?? new byte[0], value?.Length ?? 0);
            PutBigEndian(identity, HeadBytes, ~crc, sizeof(uint));
            return identity;
        }

        private static void PutBigEndian(byte[] into, int offset, ulong number, int size)
        {
            for (int index = 0; index < size; index++)
            {
                into[offset + index] = (byte)(number >> (8 * (size - 1 - index)));
            }
        }

        private static uint Crc32C(uint crc, byte[] bytes, int count)
        {
            for (int index = 0; index < count; index++)
            {
                crc = CrcTable[(crc ^ bytes[index]) & 0xff] ^ (crc >> 8);
            }
            return crc;
        }

        private static uint[] MakeCrcTable()
        {
            var table = new uint[256];
            for (uint value = 0; value < table.Length; value++)
            {
                uint crc = value;
                for (int bit = 0; bit < 8; bit++)
                {
                    crc = (crc & 1) == 1 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
                }
                table[value] = crc;
            }
            return table;
        }

        /// <summary>A report that comes after the end is passed over.</summary>
        private void Append(string name, string about, string more)
        {
            lock (_lock)
            {
                if (!_ended)
                {
                    Write(Text($"{{\"event\": \"{name}\", {about}, \"time_ms\": {NowMs()}{more}}}"));
                }
            }
        }

        /// <summary>
        /// Hands a line to the operating system at once, so that a program that is killed leaves what it has journaled.
        /// </summary>
        private void Write(string line)
        {
            byte[] bytes = Encoding.UTF8.GetBytes(line + "\n");
            _file.Write(bytes, 0, bytes.Length);
            _file.Flush();
        }

        internal static string Field(string name, long? value) => value == null ? "" : Text($", \"{name}\": {value}");

        private static string Text(FormattableString text) => FormattableString.Invariant(text);

        private static long NowMs() => DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();

        /// <summary>One word, as the journal asks for it: printable ASCII without spaces.</summary>
        private static string Word(string error)
        {
            string word = Regex.Replace(error ?? "", "[^\\x21-\\x7e]", "_");
            return word.Length == 0 ? "unknown" : word.Substring(0, Math.Min(word.Length, LongestError));
        }

        internal static string Quoted(string text)
        {
            var quoted = new StringBuilder("\"");
            foreach (char letter in text)
            {
                if (letter == '"' || letter == '\\')
                {
                    quoted.Append('\\').Append(letter);
                }
                else if (letter < ' ')
                {
                    quoted.Append("\\u").Append(((int)letter).ToString("x4", CultureInfo.InvariantCulture));
                }
                else
                {
                    quoted.Append(letter);
                }
            }
            return quoted.Append('"').ToString();
        }

        private static string Variable(string name)
        {
            string value = Environment.GetEnvironmentVariable(name);
            return string.IsNullOrEmpty(value)
                ? throw new InvalidOperationException($"the environment variable {name} is not set")
                : value;
        }
    }

    /// <summary>Those that the client has; the run judges by them. Null stands for "not known".</summary>
    public sealed class Settings
    {
        private readonly string _client;
        private readonly string _acks;
        private readonly bool _idempotent;

        /// <param name="client">The library with its version.</param>
        /// <param name="acks">"0", "1" or "all".</param>
        /// <param name="idempotent">enable.idempotence.</param>
        public Settings(string client, string acks, bool idempotent)
        {
            if (string.IsNullOrWhiteSpace(client))
            {
                throw new ArgumentException("the library and its version are expected", nameof(client));
            }
            if (acks != "0" && acks != "1" && acks != "all")
            {
                throw new ArgumentException($"\"0\", \"1\" or \"all\" is expected, not {acks}", nameof(acks));
            }
            _client = client;
            _acks = acks;
            _idempotent = idempotent;
        }

        /// <summary>max.in.flight.requests.per.connection.</summary>
        public int? MaxInFlight { get; set; }

        /// <summary>delivery.timeout.ms.</summary>
        public int? DeliveryTimeoutMs { get; set; }

        /// <summary>transaction.timeout.ms.</summary>
        public int? TransactionTimeoutMs { get; set; }

        internal string Fields() => string.Concat(
            $", \"client\": {Journal.Quoted(_client)}, \"acks\": \"{_acks}\"",
            $", \"idempotent\": {(_idempotent ? "true" : "false")}",
            Journal.Field("max_in_flight", MaxInFlight),
            Journal.Field("delivery_timeout_ms", DeliveryTimeoutMs),
            Journal.Field("transaction_timeout_ms", TransactionTimeoutMs));
    }

    /// <summary>The number of a send, and the value of the header of its record.</summary>
    public readonly struct Send
    {
        internal Send(long seq, byte[] identity)
        {
            Seq = seq;
            Identity = identity;
        }

        /// <summary>Its number.</summary>
        public long Seq { get; }

        /// <summary>The value of the header <see cref="Journal.IdentityHeader"/>.</summary>
        public byte[] Identity { get; }
    }
}
