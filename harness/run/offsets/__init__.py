"""Committed offsets of the groups of a run: who commits them, who asks for them, who reads them in files.

    readers and processors  commit for their groups; `workloads.reader` journals it as COMMITS
    MemberlessCommits       commits for groups without members, as steps say (`harness.protocol.commit_flood`)
    CoordinatorPoller       asks the coordinator of each group, for the whole run and at the end
    BrokerPoller            asks every broker without a pause, as steps say
    journal_logged_commits  reads replicas' files of `__consumer_offsets`, which
                            `workloads.log_format.offsets_topic` parses

Both pollers use `harness.protocol.client_requests`. What is answered or read becomes rows of the journal
OFFSETS in `harness.run.offsets.offset_rows` alone.
"""
