"""The writer `graph`: chains, linkages, dialogues and checklists from graphs. Begin with `graph_writer`."""
