"""Pure text: normalise, sentences, tokens, citations, refusals, numbers. Standard library only; offsets are kept."""
