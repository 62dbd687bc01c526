"""The language-model judge: tasks into prompts, replies into verdicts, exactly the asked ids back."""
