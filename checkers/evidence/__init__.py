"""What a finding has beside its class: fault windows, leader, brokers that hold the record, and a sentence;
and how findings are counted."""
