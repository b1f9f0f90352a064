"""Spellings that a model's chat format gives a meaning: `<|im_start|>`, `[INST]`, `</s>`.

Sources: the tokenizer files and chat templates of the families named below; read 2026-11.
Headings of plain words (`Human:`, `### Instruction:`) are no tokens and ordinary prose.
"""

from __future__ import annotations

import re

_SPELLINGS = (
    # ChatML and Qwen, Llama 3 and 4, Phi, GLM, Kimi, Granite, Command, OpenAI's harmony, and
    # DeepSeek's wide bars; Gemma 4 leaves out one of the bars.
    r"<[|\uff5c][^\s<>|\uff5c]{1,64}[|\uff5c]>",
    r"<\|[A-Za-z_]\w{0,63}>",
    r"<[A-Za-z_]\w{0,63}\|>",
    r"\[\|[^\s\[\]|]{1,64}\|\]",  # EXAONE
    # Llama 2 and Mistral.
    r"<</?SYS>>|</?s>",
    r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\]",
    r"\[/?(?:CALL_ID|ARGS|MODEL_SETTINGS|THINK|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO)\]",
    r"\[/?(?:TRANSCRIBE|PREFIX|MIDDLE|SUFFIX)\]",
    # GLM, Kimi, InternLM, and the sentence models.
    r"\[(?:gMASK|sMASK|MASK|CLS|SEP|PAD|UNK|BOS|EOS|EOT|start_header_id|end_header_id)\]",
    r"\[(?:UNUSED_TOKEN_|unused|extra_id_)[0-9]{1,5}\]",
    # Gemma 1 to 3, T5, MiniMax-Text.
    r"<(?:start|end|begin|beginning)_of_[a-z]{1,32}>",
    r"<(?:image|audio|video)_soft_token>|<fim_(?:prefix|middle|suffix|pad)>",
    r"<(?:bos|eos|pad|unk|mask|sep|cls|sop|eop|eot|eod|eoh|eoa)>",
    r"<(?:unused|reserved_|extra_id_|ctrl|mask:|SPECIAL_|TOKENS_UNUSED_)[0-9]{1,5}>",
    r"<(?:BOS|EOS|PAD|UNK|CLS|SEP|MASK|EOP)_TOKEN>",  # Command
    # Qwen, GLM, DeepSeek, Hermes: single tokens of their vocabularies.
    r"</?(?:think|tool_call|tool_response|arg_key|arg_value)>",
    r"</?(?:seed|minimax):[A-Za-z_]{1,32}>",
    r"\]~!?b[\[\]]|\[e~\[",  # MiniMax-M2
)
_TOKEN = re.compile("|".join(_SPELLINGS))
_START = re.compile(r"[<\[\]][|\uff5c/<~\w]")


def token_places(text: str) -> list[int]:
    """Where the control tokens of chat formats begin, ascending; also those that overlap."""
    if not _START.search(text):
        return []
    places = []
    found = _TOKEN.search(text)
    while found:
        places.append(found.start())
        found = _TOKEN.search(text, found.start() + 1)
    return places
