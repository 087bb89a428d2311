"""Levels of detail: as many bones and blends as there is time for.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning for Character Animation, 2007.

What is stored, and what everybody downstream (files, page, report) reads, is four frozen types. All of them number
bones as the `SkinnedModel` does.

    ProgressiveSkin          all of a character's levels of bones and blends      progressive_skin.py
    ├── orders, one a clip   BoneOrder: which bone next, what it follows until then   bone_order.py
    ├── all_clips            BoneOrder: one that serves all clips, for blends between clips
    ├── blends               BlendOrder: the skin with its slots sorted                blend_order.py
    ├── curves, one a clip   LevelCurve: the one number 0 … 1 as bones and blends      level_curve.py
    └── bind_pose            BindPose: defaults that most clips share                  bind_pose.py

A bone that is not active follows its parent of the clip's BoneOrder by a constant offset, told in the rest pose:

    U_b = U_parent(b) O_b,   U_b = T_b (exact) where b is active,   U_b = O_b where it follows nothing (parent -1)

U, T are posed_from_rest, so O = 1 is the paper's copy of the parent, and an O is the paper's default: a fixed change of
the bind pose. A parent comes before its children in the order, so an active bone hangs on active ones only, and a
run time needs no matrix of a bone that it does not compute. Bones that no vertex uses, and joints that stand for
another, are not in the order and follow for ever.

Each type has `arrays()` and `from_arrays()`: named arrays are all that a file or the page's pack has to carry.

Finding them: `fit_progressive` is the driver; `search/` reads a model (`skin_motion`), makes the error a quadratic form
of pairs of bones (`pair_moments`), and searches with that.
Playing them: `level_pose` (all frames at once, for measuring and baking), `model_at_level` (a model at a level is a
model), `local_keys` and `level_player` (only the active bones of one moment), `matrix_palette`, `controller`.
"""
