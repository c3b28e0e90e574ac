"""Words of questions and answers: vocabulary, verbs, grammar, and readers of typed answers.

Judges read answers with it, and writers fill forms. Begin with `answer_reading`.
"""
