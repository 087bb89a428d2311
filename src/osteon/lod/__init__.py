"""Levels of detail: the numbers of bones and blends that the frame time allows.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning for Character Animation, 2007.

The result is a set of frozen types, used by files, page and report. Their bone indices are those of the `SkinnedModel`.

    ProgressiveSkin          all levels of bones and blends of a character       progressive_skin.py
    ├── orders, one per clip BoneOrder: the order of bones, and the parent of each       bone_order.py
    ├── all_clips            BoneOrder: one that serves all clips, for blends between clips
    ├── blends               BlendOrder: the skin with its slots sorted
    └── curves, one per clip LevelCurve: the level 0 … 1 as bones and blends

A bone that is not active follows its parent of the clip's BoneOrder by a constant offset, given in the rest pose:

    U_b = U_parent(b) O_b,   U_b = T_b (exact) where b is active,   U_b = O_b where it follows nothing (parent -1)

U, T are posed_from_rest, so O = 1 is the paper's copy of the parent, and an O is the paper's default: a fixed change of
the bind pose. A parent precedes its children in the order, so an active bone depends on active ones only, and a run
time needs no matrix of a bone that it does not compute. Bones that no vertex uses, and joints that duplicate another,
are not in the order and always follow.

Each type has `arrays()` and `from_arrays()`: named arrays are all that a file or the page's pack has to store.

Fitting: `fit_progressive` is the driver; `search/` reads a model (`skin_motion`), expresses the error as a quadratic
form of pairs of bones (`pair_moments`), and searches with that. `mesh/` simplifies meshes.
Playback: `bone_order` (all frames at once, for measuring and baking), `model_levels` (a model at a level is a model),
`level_player` (only the active bones at one time), `controller`.
"""
