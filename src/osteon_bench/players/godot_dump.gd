# Writes an imported scene of Godot 3: meshes, skins, and at given times the poses of bones and the weights of blend shapes.
# godot3-server --path PROJECT --script godot_dump.gd; request.json has the clip and the times; results are in header.json and numbers.bin.
extends SceneTree

var numbers = File.new()


func _initialize():
	var file = File.new()
	file.open("res://request.json", File.READ)
	var request = JSON.parse(file.get_as_text()).result
	file.close()
	var scene = load("res://" + request["file"]).instance()
	get_root().add_child(scene)
	var player = _find(scene, "AnimationPlayer")[0]
	var meshes = []
	for node in _find(scene, "MeshInstance"):
		if node.mesh != null:
			meshes.append(node)
	numbers.open("res://numbers.bin", File.WRITE)
	var header = {"clips": Array(player.get_animation_list()), "surfaces": []}
	for node in meshes:
		for surface in node.mesh.get_surface_count():
			header["surfaces"].append(_write_surface(node, surface))
	var clip = request["clips"][int(request["clip"])]
	header["found"] = player.has_animation(clip)
	if header["found"]:
		header["length"] = player.get_animation(clip).length
		player.play(clip)
		for time in request["times"]:
			player.seek(time, true)
			for node in meshes:
				_write_pose(node)
	numbers.close()
	file.open("res://header.json", File.WRITE)
	file.store_string(JSON.print(header))
	file.close()
	quit()


func _find(node, kind):
	var found = [node] if node.is_class(kind) else []
	for child in node.get_children():
		found += _find(child, kind)
	return found


# The vertices, their bones and weights, the triangles, and the vertices of each blend shape.
func _write_surface(node, surface):
	var arrays = node.mesh.surface_get_arrays(surface)
	var shapes = node.mesh.surface_get_blend_shape_arrays(surface)
	_write_points(arrays[Mesh.ARRAY_VERTEX])
	for array in [arrays[Mesh.ARRAY_BONES], arrays[Mesh.ARRAY_WEIGHTS], arrays[Mesh.ARRAY_INDEX]]:
		for number in array:
			numbers.store_float(number)
	for shape in shapes:
		_write_points(shape[Mesh.ARRAY_VERTEX])
	return {
		"vertices": len(arrays[Mesh.ARRAY_VERTEX]),
		"indices": len(arrays[Mesh.ARRAY_INDEX]),
		"shapes": len(shapes),
		"relative": node.mesh.blend_shape_mode == ArrayMesh.BLEND_SHAPE_MODE_RELATIVE,
		"binds": node.skin.get_bind_count(),
		"node": node.name,
	}


# The transform of the mesh, the matrix of each bind of its skin, and the weights of its blend shapes.
func _write_pose(node):
	var skeleton = node.get_node(node.skeleton)
	_write_transform(node.global_transform)
	for bind in node.skin.get_bind_count():
		var bone = node.skin.get_bind_bone(bind)
		if bone < 0:
			bone = skeleton.find_bone(node.skin.get_bind_name(bind))
		_write_transform(skeleton.get_bone_global_pose(bone) * node.skin.get_bind_pose(bind))
	for shape in node.mesh.get_blend_shape_count():
		numbers.store_float(node.get("blend_shapes/" + node.mesh.get_blend_shape_name(shape)))


func _write_points(points):
	for point in points:
		numbers.store_float(point.x)
		numbers.store_float(point.y)
		numbers.store_float(point.z)


# Rows of three by four numbers.
func _write_transform(transform):
	for row in 3:
		for column in 3:
			numbers.store_float(transform.basis[column][row])
		numbers.store_float(transform.origin[row])
