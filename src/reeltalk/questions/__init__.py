"""Questions about videos written from their knowledge graphs, and answers to them read and judged by type.

Reading graphs, and what a graph says of a film, is `graph`; putting questions into chains and dialogues is `construct`.
Begin with `questions.questions`, then `wording`, which makes sentences of them, and `answer_reading`.
"""
