"""Short forms of entries -> the long form, before anything is read: what a family's head gives to
its entries, sample sets and errors that have a name, samples that are written as calls.
"""
