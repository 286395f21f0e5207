"""Chat templates in the manner of the common families, written for these tests: their tags, their rules for turns, and their tricks."""

# ruff: noqa: RUF001 - tags of some families hold letters that look like others

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

LLAMA2 = """{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set first = messages[0]['content'] %}
{%- else %}{% set rest = messages %}{% set first = false %}{% endif %}
{%- for message in rest %}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate.') }}{% endif %}
{%- if loop.index0 == 0 and first %}{% set said = '<<SYS>>\\n' + first + '\\n<</SYS>>\\n\\n' + message['content'] %}
{%- else %}{% set said = message['content'] %}{% endif %}
{%- if message['role'] == 'user' %}{{ bos_token + '[INST] ' + said.strip() + ' [/INST]' }}
{%- elif message['role'] == 'assistant' %}{{ ' ' + said.strip() + ' ' + eos_token }}{% endif %}
{%- endfor %}"""

LLAMA3 = """{%- set day = strftime_now('%d %b %Y') if strftime_now is defined else '26 Jul 2024' %}
{%- if messages[0].role == 'system' %}{% set told = messages[0].content | trim %}{% set messages = messages[1:] %}
{%- else %}{% set told = '' %}{% endif %}
{{- bos_token + '<|start_header_id|>system<|end_header_id|>\\n\\nCutting Knowledge Date: December 2023\\nToday Date: ' + day + '\\n\\n' }}
{{- told + '<|eot_id|>' }}
{%- for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"""

GEMMA2 = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for message in messages %}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate user/assistant') }}{% endif %}
{%- set role = 'model' if message['role'] == 'assistant' else message['role'] %}
{{- '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}
{%- endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"""

GEMMA3 = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
{%- if messages[0]['content'] is string -%}{%- set before = messages[0]['content'] + '\n\n' -%}
{%- else -%}{%- set before = messages[0]['content'][0]['text'] + '\n\n' -%}{%- endif -%}
{%- set rest = messages[1:] -%}
{%- else -%}{%- set before = '' -%}{%- set rest = messages -%}{%- endif -%}
{%- for message in rest -%}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('Roles must alternate') }}{%- endif -%}
{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\n' + (before if loop.first else '') }}
{%- if message['content'] is string -%}{{ message['content'] | trim }}
{%- elif message['content'] is iterable -%}
{%- for item in message['content'] -%}{%- if item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}{%- endfor -%}
{%- else -%}{{ raise_exception('Invalid content type') }}{%- endif -%}
{{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%}"""

MISTRAL1 = """{{ bos_token }}{% for message in messages %}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}
{%- if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}
{%- elif message['role'] == 'assistant' %}{{ message['content'] + eos_token }}
{%- else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"""

MISTRAL3 = """{%- if messages[0]["role"] == "system" %}{%- set told = messages[0]["content"] %}{%- set rest = messages[1:] %}
{%- else %}{%- set rest = messages %}{%- endif %}
{%- set users = rest | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace(index=0) %}
{%- for message in rest %}
{%- if (message["role"] == "user") != (ns.index % 2 == 0) %}{{- raise_exception("must alternate") }}{%- endif %}
{%- set ns.index = ns.index + 1 %}{%- endfor %}
{{- bos_token }}
{%- for message in rest %}
{%- if message["role"] == "user" %}
{%- if loop.last and told is defined %}{{- "[INST] " + told + "\n\n" + message["content"] + "[/INST]" }}
{%- else %}{{- "[INST] " + message["content"] + "[/INST]" }}{%- endif %}
{%- elif message["role"] == "assistant" %}{{- " " + message["content"] | trim + eos_token }}
{%- else %}{{- raise_exception("Only user and assistant roles are supported") }}{%- endif %}
{%- endfor %}"""

PHI3 = (
    "{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}"
    "{{ '<|system|>\n' + message['content'] + '<|end|>\n' }}{% elif message['role'] == 'user' %}"
    "{{ '<|user|>\n' + message['content'] + '<|end|>\n' }}{% elif message['role'] == 'assistant' %}"
    "{{ '<|assistant|>\n' + message['content'] + '<|end|>\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"
)

PHI3_NO_SYSTEM = (  # as the first of its kind: what it does not know it leaves out
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ '<|user|>\n' + message['content'] + '<|end|>\n<|assistant|>\n' }}{% elif message['role'] == 'assistant' %}"
    "{{ message['content'] + '<|end|>\n' }}{% endif %}{% endfor %}"
)

PHI4 = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"
)

QWEN25 = """{%- if messages[0]['role'] == 'system' %}{{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
{%- else %}{{- '<|im_start|>system\nYou are Someone, created by Somebody. You are a helpful assistant.<|im_end|>\n' }}{%- endif %}
{%- for message in messages %}
{%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
{%- elif message.role == "tool" %}{{- '<tool_response>' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""

QWEN3 = """{%- if messages[0].role == 'system' %}{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{%- endif %}
{%- set ns = namespace(last_query_index=messages|length - 1, found=false) %}
{%- for message in messages[::-1] %}
{%- set index = (messages|length - 1) - loop.index0 %}
{%- if not ns.found and message.role == "user" and message.content is string
 and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
{%- set ns.found = true %}{%- set ns.last_query_index = index %}{%- endif %}
{%- endfor %}
{%- for message in messages %}
{%- set content = message.content if message.content is string else '' %}
{%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
{{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
{%- elif message.role == "assistant" %}
{%- set thought = '' %}
{%- if '</think>' in content %}
{%- set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
{%- set content = content.split('</think>')[-1].lstrip('\n') %}
{%- endif %}
{%- if loop.index0 > ns.last_query_index and (loop.last or thought) %}
{{- '<|im_start|>' + message.role + '\n<think>\n' + thought.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
{%- else %}{{- '<|im_start|>' + message.role + '\n' + content }}{%- endif %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}{%- endif %}"""

DEEPSEEK = """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{%- set ns = namespace(is_first=false, system_prompt='') %}
{%- for message in messages %}{%- if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}{%- endif %}{%- endfor %}
{{- bos_token }}{{ ns.system_prompt }}
{%- for message in messages %}
{%- if message['role'] == 'user' %}{{ '<｜User｜>' + message['content'] }}{%- endif %}
{%- if message['role'] == 'assistant' and message['content'] is not none %}
{%- set content = message['content'] %}
{%- if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}
{{- '<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>' }}{%- endif %}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<｜Assistant｜><think>\n' }}{% endif %}"""

ZEPHYR = (
    "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n"
    "{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n"
    "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n"
    "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"
)

VICUNA = (
    "{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set told = messages[0]['content'] %}{% else %}"
    "{% set rest = messages %}{% set told = 'A chat between a curious user and an artificial intelligence assistant.' %}{% endif %}"
    "{{ told }}{% for message in rest %}{% if message['role'] == 'user' %}{{ ' USER: ' + message['content'].strip() }}"
    "{% else %}{{ ' ASSISTANT: ' + message['content'].strip() + eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ ' ASSISTANT:' }}{% endif %}"
)

ALPACA = (
    "{% for message in messages %}{% if message['role'] == 'system' %}{{ message['content'] + '\n\n' }}{% elif message['role'] == 'user' %}"
    "{{ '### Instruction:\n' + message['content'] + '\n\n' }}{% else %}{{ '### Response:\n' + message['content'] + eos_token + '\n\n' }}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '### Response:\n' }}{% endif %}"
)

COMMAND_R = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set told = messages[0]['content'] %}
{%- else %}{% set rest = messages %}{% set told = 'You are a large language model.' %}{% endif %}
{{- '<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>' + told + '<|END_OF_TURN_TOKEN|>' }}
{%- for message in rest %}
{%- if message['role'] == 'user' %}{{ '<|START_OF_TURN_TOKEN|><|USER_TOKEN|>' + message['content'].strip() + '<|END_OF_TURN_TOKEN|>' }}
{%- elif message['role'] == 'assistant' %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' + message['content'].strip() + '<|END_OF_TURN_TOKEN|>' }}
{%- endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% endif %}"""

GRANITE = """{%- if messages[0]['role'] == 'system' %}{%- set told = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}
{%- else %}{%- set told = "Knowledge Cutoff Date: April 2024. Today's Date: " + strftime_now('%B %d, %Y') + "." %}
{%- set loop_messages = messages %}{%- endif %}
{{- '<|start_of_role|>system<|end_of_role|>' + told + '<|end_of_text|>\n' }}
{%- for message in loop_messages %}
{{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>\n' }}
{%- if loop.last and add_generation_prompt %}{{- '<|start_of_role|>assistant' }}{{- '<|end_of_role|>' }}{%- endif %}
{%- endfor %}"""

SMOLLM3 = """{%- set mode = 'think' %}
{%- if messages[0].role == 'system' and '/no_think' in messages[0].content %}{%- set mode = 'plain' %}{%- endif %}
{{- '<|im_start|>system\n## Metadata\n\nToday Date: ' ~ strftime_now('%d %B %Y') ~ '\nReasoning Mode: ' ~ mode ~ '\n\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content.replace('/no_think', '').rstrip() + '\n\n' }}{%- endif %}
{{- '<|im_end|>\n' }}
{%- for message in messages %}
{%- set content = message.content if message.content is string else '' %}
{%- if message.role == 'user' %}{{ '<|im_start|>user\n' + content + '<|im_end|>\n' }}
{%- elif message.role == 'assistant' %}
{% generation %}{{ '<|im_start|>assistant\n' + content.lstrip('\n') + '<|im_end|>\n' }}{% endgeneration %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- if mode == 'plain' %}{{ '<think>\n\n</think>\n' }}{%- endif %}{%- endif %}"""

OLMO = (
    "{{ eos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>\n' + message['content'] + '\n' }}"
    "{% elif message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'assistant' %}"
    "{% if not loop.last %}{{ '<|assistant|>\n'  + message['content'] + eos_token + '\n' }}"
    "{% else %}{{ '<|assistant|>\n'  + message['content'] + eos_token }}{% endif %}{% endif %}"
    "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}{% endfor %}"
)

FALCON = (
    "{% for message in messages %}{% if not loop.first %}{{ '\n' }}{% endif %}{% if message['role'] == 'system' %}{{ 'System: ' }}"
    "{% elif message['role'] == 'user' %}{{ 'User: ' }}{% elif message['role'] == 'assistant' %}{{ 'Falcon: ' }}{% endif %}"
    "{{ message['content'] }}{% endfor %}{% if add_generation_prompt %}{{ '\nFalcon:' }}{% endif %}"
)

PARTS_ONLY = (  # as those of models that see: contents are lists of parts
    "{% for message in messages %}{{ message['role'] | upper }}{{ ': ' }}{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}{{ '<end_of_utterance>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)

FAMILIES = {name.lower(): text for name, text in list(globals().items()) if name.isupper() and isinstance(text, str)}
"""All of them, by name."""

SPECIAL = {
    "chatml": ("<|im_start|>", "<|im_end|>", "<|endoftext|>"),
    "llama2": ("<s>", "</s>"),
    "llama3": ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|end_of_text|>"),
    "gemma2": ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
    "gemma3": ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
    "mistral1": ("<s>", "</s>"),
    "mistral3": ("<s>", "</s>", "[INST]", "[/INST]"),
    "phi3": ("<s>", "<|endoftext|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"),
    "phi3_no_system": ("<s>", "<|endoftext|>", "<|end|>", "<|user|>", "<|assistant|>"),
    "phi4": ("<|endoftext|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"),
    "qwen25": ("<|im_start|>", "<|im_end|>", "<|endoftext|>"),
    "qwen3": ("<|im_start|>", "<|im_end|>", "<|endoftext|>"),
    "deepseek": ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"),
    "zephyr": ("<s>", "</s>"),
    "vicuna": ("<s>", "</s>"),
    "alpaca": ("<s>", "</s>"),
    "command_r": (
        "<BOS_TOKEN>",
        "<|START_OF_TURN_TOKEN|>",
        "<|END_OF_TURN_TOKEN|>",
        "<|USER_TOKEN|>",
        "<|CHATBOT_TOKEN|>",
    ),
    "granite": ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"),
    "smollm3": ("<|im_start|>", "<|im_end|>", "<|end_of_text|>"),
    "olmo": ("<|endoftext|>",),
    "falcon": ("<|endoftext|>",),
    "parts_only": ("<s>", "</s>", "<end_of_utterance>"),
}
"""The special tokens of each."""

BOS = {
    "llama2": "<s>",
    "llama3": "<|begin_of_text|>",
    "gemma2": "<bos>",
    "gemma3": "<bos>",
    "mistral1": "<s>",
    "mistral3": "<s>",
}
BOS |= {"phi3": "<s>", "phi3_no_system": "<s>", "deepseek": "<｜begin▁of▁sentence｜>", "zephyr": "<s>", "vicuna": "<s>"}
BOS |= {"alpaca": "<s>", "command_r": "<BOS_TOKEN>", "parts_only": "<s>"}

EOS = {name: tags[-1] for name, tags in SPECIAL.items()} | {
    **dict.fromkeys(("llama2", "mistral1", "mistral3", "zephyr", "vicuna", "alpaca", "parts_only"), "</s>"),
    **dict.fromkeys(("phi3", "phi3_no_system", "phi4"), "<|endoftext|>"),
    **dict.fromkeys(("gemma2", "gemma3"), "<eos>"),
    **dict.fromkeys(("qwen25", "qwen3"), "<|im_end|>"),
    "deepseek": "<｜end▁of▁sentence｜>",
    "command_r": "<|END_OF_TURN_TOKEN|>",
}
"""What begins a text, and what ends it, in the tokenizer's own settings."""

ENDS = {
    **dict.fromkeys(("chatml", "qwen25", "qwen3", "smollm3"), "<|im_end|>"),
    **dict.fromkeys(("llama2", "mistral1", "mistral3", "zephyr", "vicuna", "alpaca"), "</s>"),
    **dict.fromkeys(("phi3", "phi3_no_system", "phi4"), "<|end|>"),
    **dict.fromkeys(("gemma2", "gemma3"), "<end_of_turn>"),
    "llama3": "<|eot_id|>",
    "deepseek": "<｜end▁of▁sentence｜>",
    "command_r": "<|END_OF_TURN_TOKEN|>",
    "granite": "<|end_of_text|>",
    **dict.fromkeys(("olmo", "falcon"), "<|endoftext|>"),
    "parts_only": "<end_of_utterance>",
}
"""The token with which a reply ends."""
