# In Godot 3: what a scene that `sinew export --to godot` wrote shows of its first animation, frame by frame, as PC2. Vertices are
# skinned here, by Godot's meshes, blend shapes, binds and bone poses: the headless build draws nothing.
#   godot3-server --path PROJECT -s godot_points.gd SCENE.tscn OUT.pc2 FRAMES FPS
extends SceneTree

func find(node, type):
	if node.is_class(type):
		return node
	for child in node.get_children():
		var found = find(child, type)
		if found:
			return found
	return null

func skinned(mesh, skeleton, out):
	var matrices = []
	for b in range(mesh.skin.get_bind_count()):
		var bone = mesh.skin.get_bind_bone(b)
		if bone < 0:
			bone = skeleton.find_bone(mesh.skin.get_bind_name(b))
		matrices.append(skeleton.global_transform * skeleton.get_bone_global_pose(bone) * mesh.skin.get_bind_pose(b))
	for s in range(mesh.mesh.get_surface_count()):
		var arrays = mesh.mesh.surface_get_arrays(s)
		var bones = arrays[Mesh.ARRAY_BONES]
		var weights = arrays[Mesh.ARRAY_WEIGHTS]
		var shapes = mesh.mesh.surface_get_blend_shape_arrays(s)
		for i in range(arrays[Mesh.ARRAY_VERTEX].size()):
			var rest = arrays[Mesh.ARRAY_VERTEX][i]
			for k in range(shapes.size()):
				var shape = shapes[k][Mesh.ARRAY_VERTEX][i]
				if mesh.mesh.blend_shape_mode == Mesh.BLEND_SHAPE_MODE_NORMALIZED:
					shape -= arrays[Mesh.ARRAY_VERTEX][i]
				rest += shape * mesh.get("blend_shapes/" + mesh.mesh.get_blend_shape_name(k))
			var point = Vector3()
			for k in range(4):
				if weights[4 * i + k] > 0:
					point += weights[4 * i + k] * matrices[bones[4 * i + k]].xform(rest)
			out.append(point)

func _init():
	call_deferred("measure")

func measure():
	var arguments = OS.get_cmdline_args()
	arguments = Array(arguments).slice(arguments.size() - 4, arguments.size() - 1)
	var scene = load("res://" + arguments[0]).instance()
	root.add_child(scene)
	var player = find(scene, "AnimationPlayer")
	var skeleton = find(scene, "Skeleton")
	var mesh = find(scene, "MeshInstance")
	var file = File.new()
	file.open(arguments[1], File.WRITE)
	var values = File.new() # NAME.txt in the project: of every frame
	var names = []
	if values.open("res://" + arguments[0].get_basename() + ".txt", File.READ) == OK:
		names = values.get_csv_line()
	if player:
		player.play(player.get_animation_list()[0])
	for f in range(int(arguments[2])):
		if player:
			player.seek(f / float(arguments[3]), true)
		var row = values.get_csv_line() if names else []
		for k in range(1, names.size()): # as a track of an AnimationPlayer would
			scene.set_indexed("values:" + names[k], float(row[k]))
		scene.drive()
		var points = []
		skinned(mesh, skeleton, points)
		if f == 0:
			file.store_buffer("POINTCACHE2".to_ascii())
			file.store_8(0)
			for number in [1, points.size()]:
				file.store_32(number)
			file.store_float(0)
			file.store_float(1)
			file.store_32(int(arguments[2]))
		for point in points:
			for c in range(3):
				file.store_float(point[c])
	file.close()
	quit()
