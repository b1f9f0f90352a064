"""What kind of edit turned one text into another, for detectors."""

from __future__ import annotations

from ctxdiff_analyzers.edits import FORM_ONLY, Edit, EditCause, edit

__all__ = ["FORM_ONLY", "Edit", "EditCause", "edit"]
