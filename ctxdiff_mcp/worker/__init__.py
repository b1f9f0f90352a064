"""Answers from a process of their own, which can be killed: see docs/trust.md, "Limits".

    server ── Supervisor ── pipe ──► loop ──► InProcess ──► tools
              quarantine             limits, watch on every file

`InProcess` answers where it is called. The loop asks it in the worker, one question at a time; the
supervisor stands for it in the server, and starts a worker anew when one had to be killed or died.
"""
