"""Run time: transforms of bones in, posed vertices out; nothing is fitted here."""
