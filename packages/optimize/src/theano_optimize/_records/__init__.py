"""What is known of a run of rewriting: profiles, traces, and their reports."""
