"""Committed offsets of the groups of a run: who commits them, who asks for them, who reads them in files.

    readers and processors  commit for their groups; `workloads.records.reader` journals it as COMMITS
    MemberlessCommits       commits for groups without members, as steps say (`workloads.groups.commit_flood`)
    CoordinatorPoller       asks the coordinator of each group, for the whole run and at the end
    BrokerPoller            asks every broker without a pause, as steps say
    journal_logged_commits  reads replicas' files of `__consumer_offsets`, which
                            `workloads.groups.offsets_topic` parses

Both pollers use `harness.cluster.protocol.client_requests`. What is answered or read becomes rows of the
journal OFFSETS in `workloads.groups.offset_rows` alone.
"""
