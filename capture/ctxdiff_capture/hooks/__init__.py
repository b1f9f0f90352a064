"""What a program may hang onto a recording: snapshots before calls, stages, planners' decisions."""
