"""The modules of the compiled kernels of each kind of fit, so that they can be compiled beforehand."""

from __future__ import annotations

from osteon.core.skin_options import SkinOptions

#: Every fit, and its measures.
SKIN_KERNELS = (
    "osteon.core.normals",
    "osteon.deform.pose",
    "osteon.fit.clustering.cluster",
    "osteon.fit.clustering.hashing",
    "osteon.fit.clustering.mean_shift",
    "osteon.fit.corrections.normals",
    "osteon.fit.moments",
    "osteon.fit.skin.influences",
    "osteon.fit.skin.nonnegative",
    "osteon.fit.skin.procrustes",
    "osteon.fit.skin.rest_normals",
    "osteon.fit.skin.scaled_axes",
    "osteon.fit.skin.scaled_bones",
    "osteon.fit.skin.solve_bones",
    "osteon.measure.distortion",
)
#: In addition for corrections.
CORRECTION_KERNELS = (
    "osteon.fit.corrections.columns",
    "osteon.fit.corrections.corrected_skin",
)
#: In addition for models other than linear blending.
MODEL_KERNELS = {
    "as": ("osteon.deform.animation_space", "osteon.fit.corrections.columns"),
    "mwe": ("osteon.deform.multi_weight", "osteon.fit.corrections.columns"),
}
#: In addition for skeletons.
RIG_KERNELS = (
    *SKIN_KERNELS,
    "osteon.core.box_tree",
    "osteon.fit.skeleton.articulated",
    "osteon.measure.closest_point",
)
#: Comparison of models: skeletons, all models, and surface measures.
COMPARE_KERNELS = tuple(
    dict.fromkeys((*RIG_KERNELS, *MODEL_KERNELS["as"], *MODEL_KERNELS["mwe"], "osteon.deform.column_rows"))
)
#: Simulation of flesh.
ELASTIC_KERNELS = ("osteon.core.box_tree", "osteon.elastic.elements", "osteon.measure.closest_point")
#: Displacements that follow joints, and weights for them.
EIGENSKIN_KERNELS = (
    "osteon.core.normals",
    "osteon.deform.pose",
    "osteon.deform.column_rows",
    "osteon.fit.moments",
    "osteon.fit.skin.influences",
    "osteon.fit.skin.nonnegative",
)
#: Levels of a mesh with fewer triangles.
LEVEL_KERNELS = (
    "osteon.core.box_tree",
    "osteon.core.normals",
    "osteon.deform.pose",
    "osteon.lod.mesh.collapse",
    "osteon.lod.mesh.edge_checks",
    "osteon.lod.mesh.placement",
    "osteon.measure.closest_point",
)
#: Levels of detail: bone orders, their players, coarser meshes and their measures.
LOD_KERNELS = (
    "osteon.deform.pose",
    "osteon.fit.skin.procrustes",
    "osteon.lod.level_player",
    "osteon.lod.search.fade_reach",
    "osteon.lod.search.pair_moments",
    "osteon.measure.flip",
    "osteon.measure.scan_conversion",
    "osteon.measure.textured_picture",
    *LEVEL_KERNELS,
)
#: Edits of the rest pose, carried to coarse meshes.
EDIT_KERNELS = ("osteon.core.box_tree", "osteon.core.normals", "osteon.deform.pose", "osteon.measure.closest_point")
#: Precomputed light.
LIGHT_KERNELS = ("osteon.apply.light.ray_kernels", "osteon.io.images.piz", *EDIT_KERNELS)
#: Collision of skinned characters.
COLLIDE_KERNELS = (
    "osteon.apply.collide.cast_rays",
    "osteon.apply.collide.leaf_vertices",
    "osteon.apply.collide.nearest_triangle",
    "osteon.apply.collide.surface_area_tree",
    "osteon.apply.collide.tree_table",
    "osteon.apply.collide.triangle_pairs",
    "osteon.deform.pose",
)
#: Rigid bodies that a character kicks.
BODY_KERNELS = (
    "osteon.apply.collide.bodies_solver",
    "osteon.apply.collide.bodies_surface",
    "osteon.core.box_tree",
    "osteon.deform.pose",
)
ALL_KERNELS = tuple(
    dict.fromkeys(
        (
            *COMPARE_KERNELS,
            *CORRECTION_KERNELS,
            *ELASTIC_KERNELS,
            *EIGENSKIN_KERNELS,
            *LOD_KERNELS,
            *EDIT_KERNELS,
            *LIGHT_KERNELS,
            *BODY_KERNELS,
            *COLLIDE_KERNELS,
        )
    )
)


def kernels_for(options: SkinOptions) -> tuple[str, ...]:
    """The kernel modules of a fit with these options."""
    corrections = CORRECTION_KERNELS if options.rank else ()
    return (*SKIN_KERNELS, *corrections, *MODEL_KERNELS.get(options.model, ()))
