using System;
using System.Linq;
using System.Text;
using System.Threading;
using KafkaChaos;

/// <summary>What tests/mock/workloads/own/test_languages.py runs.</summary>
internal static class Program
{
    private static int Main()
    {
        string client = Environment.GetEnvironmentVariable("PROBE_CLIENT");
        string acks = Environment.GetEnvironmentVariable("PROBE_ACKS");
        var journal = Journal.Begin(new Settings(client, acks, idempotent: true)
        {
            MaxInFlight = 5,
            DeliveryTimeoutMs = 30000,
            TransactionTimeoutMs = 60000,
        });
        Show(Journal.Identity(4611686018427387905, 2147483647, 9007199254740993, Encoding.UTF8.GetBytes("grüße")));
        Show(Journal.Identity(4611686018427387905, 2147483647, 9007199254740993, null));
        bool begun = journal.WaitBegun(TimeSpan.FromMilliseconds(1));
        Console.WriteLine($"begun {begun} over {journal.Over}".ToLowerInvariant());
        journal.WaitBegun(TimeSpan.FromMinutes(1));

        long first = Sent(journal.Sent(
            Encoding.UTF8.GetBytes("schlüssel"), Encoding.UTF8.GetBytes("grüße"), 2, timestampMs: 1699999999123,
            id: "order \"ü\" 7"));
        journal.Acked(first, 2, 41);
        journal.Acked(Sent(journal.Sent(null, null)));
        journal.Failed(Sent(journal.Sent(new byte[] { 0, 0, 0, 0, 0, 0, 0, 7 }, null)), "timed out: ü");
        journal.Refused(Sent(journal.Sent(null, new byte[] { 0, 255 })), "too \"large\"");
        var ends = new Action<int>[] { journal.Committed, journal.Aborted, journal.Indeterminate };
        for (int transaction = 0; transaction < ends.Length; transaction++)
        {
            Sent(journal.Sent(null, null, transaction: transaction));
            ends[transaction](transaction);
        }

        var threads = Enumerable.Range(0, 4).Select(_ => new Thread(() =>
        {
            for (int number = 0; number < 250; number++)
            {
                Send send = journal.Sent(null, new[] { (byte)'x' });
                journal.Acked(send.Seq, 0, send.Seq);
            }
        })).ToList();
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        Console.WriteLine("sent");
        while (!journal.Over)
        {
            Thread.Sleep(10);
        }
        journal.End();
        journal.Dispose();
        journal.Acked(first, 2, 41);
        try
        {
            journal.Sent(null, null);
        }
        catch (ObjectDisposedException)
        {
            return 0;
        }
        return 1;
    }

    private static long Sent(Send send)
    {
        Show(send.Identity);
        return send.Seq;
    }

    private static void Show(byte[] identity) =>
        Console.WriteLine(string.Concat(identity.Select(each => each.ToString("x2"))));
}
