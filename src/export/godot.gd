# Drives the helper joints and blend shapes of the character below this node, after its animations. For Godot 3.
extends Spatial

export var values = {} # what the table calls values: values.smile = 0.5, or animated as values:smile
var skeleton: Skeleton
var drivers = []
var helpers = []
var meshes = [] # those that have the table's blend shapes
var complete = true

func find_skeleton(node):
	if node is Skeleton:
		return node
	for child in node.get_children():
		var found = find_skeleton(child)
		if found:
			return found
	return null

func find_meshes(node):
	if node is MeshInstance and table.has("shapes") and node.get("blend_shapes/" + table.shapes[0].name) != null:
		meshes.append(node)
	for child in node.get_children():
		find_meshes(child)

# Godot's importer changes names: "Left Hand.01" becomes "left_hand_1".
func plain(name):
	var regex = RegEx.new()
	for rule in [["0+(\\d+)", "$1"], ["[^a-zA-Z0-9]+", ""]]:
		regex.compile(rule[0])
		name = regex.sub(name, rule[1], true)
	return name.to_lower()

func bone_of(name):
	var bone = skeleton.find_bone(name)
	for other in range(skeleton.get_bone_count()):
		if bone < 0 and plain(skeleton.get_bone_name(other)) == plain(name):
			bone = other
	if bone < 0:
		push_error("the skeleton has no bone " + name + ", which the driver table names")
		complete = false
	return bone

func _ready():
	process_priority = 1000
	skeleton = find_skeleton(self)
	find_meshes(self)
	for driver in table.drivers:
		if driver.has("value"):
			drivers.append(driver)
			values[driver.value] = values.get(driver.value, clamp(0, driver.low, driver.high))
			continue
		var a = driver.before
		var b = driver.after
		drivers.append({"bone": bone_of(driver.joint), "before": Quat(a[0], a[1], a[2], a[3]), "after": Quat(b[0], b[1], b[2], b[3]),
			"rest": Vector3(driver.rest[0], driver.rest[1], driver.rest[2])})
	for helper in table.helpers:
		var t = helper.translation
		var q = helper.rotation
		helpers.append({"bone": bone_of(helper.name), "rest": Transform(Basis(Quat(q[0], q[1], q[2], q[3])), Vector3(t[0], t[1], t[2]))})
	drive()

func _process(_delta):
	drive()

# A bone in its parent: the rest, what the animation does, what a script does.
func local_of(bone):
	return skeleton.get_bone_rest(bone) * skeleton.get_bone_custom_pose(bone) * skeleton.get_bone_pose(bone)

func terms_of(driver):
	if driver.has("value"):
		return [(clamp(values[driver.value], driver.low, driver.high) - driver.low) / (driver.high - driver.low)]
	var r = driver.before * Quat(local_of(driver.bone).basis.orthonormalized()) * driver.after
	var v = Vector3(r.x, r.y, r.z) * (-1.0 if r.w < 0 else 1.0)
	var sine = v.length()
	var p = v * (2 * atan2(sine, abs(r.w)) / sine if sine > 1e-6 else 2.0) - driver.rest
	return [p.x, p.y, p.z, p.x * p.x, p.x * p.y, p.x * p.z, p.y * p.y, p.y * p.z, p.z * p.z]

# A transform plus products of values times translation, rotation vector and scale.
func plus(local, products, terms):
	var s = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
	for product in products:
		var factor = 1.0
		for d in product.drivers:
			factor *= terms[d][0]
		for c in range(9):
			s[c] += factor * product.mix[c]
	local.basis.x += Vector3(s[6], s[5], -s[4])
	local.basis.y += Vector3(-s[5], s[7], s[3])
	local.basis.z += Vector3(s[4], -s[3], s[8])
	local.origin += Vector3(s[0], s[1], s[2])
	return local

func drive():
	if not complete:
		return
	var terms = []
	for driver in drivers:
		terms.append(terms_of(driver))
	for n in range(helpers.size()):
		var helper = table.helpers[n]
		var sum = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
		for function in helper.functions:
			for k in range(9):
				var row = function.mix[k]
				var term = terms[function.driver][k]
				for c in range(7):
					sum[c] += term * row[c]
		for c in range(7):
			sum[c] = clamp(sum[c], helper.low[c], helper.high[c])
		var basis = Basis(Quat(sum[3] / 2, sum[4] / 2, sum[5] / 2, 1).normalized()).scaled(Vector3.ONE * (1 + sum[6]))
		var local = Transform(basis, Vector3(sum[0], sum[1], sum[2]))
		if helper.has("products"):
			local = plus(local, helper.products, terms)
		local = helpers[n].rest * local
		skeleton.set_bone_pose(helpers[n].bone, skeleton.get_bone_rest(helpers[n].bone).affine_inverse() * local)
	if meshes.size() > 0:
		drive_shapes(terms)

# The terms of a group: of one driver, products of two, or Gaussians around centres.
func group_terms(group, vectors):
	var p = vectors[group.drivers[0]]
	var out = []
	if group.has("centres"):
		for c in group.centres:
			var away = Vector3(p[0] - c[0], p[1] - c[1], p[2] - c[2])
			out.append(exp(-away.length_squared() / (2 * group.width * group.width)))
	elif group.drivers.size() == 2:
		for r in range(3):
			for c in range(3):
				out.append(p[r] * vectors[group.drivers[1]][c])
	else:
		out = p
	return out

func drive_shapes(vectors):
	var terms = []
	for group in table.terms:
		terms.append(group_terms(group, vectors))
	for shape in table.shapes:
		var weight = 0.0
		for function in shape.functions:
			for k in range(function.mix.size()):
				weight += function.mix[k] * terms[function.terms][k]
		for mesh in meshes:
			mesh.set("blend_shapes/" + shape.name, weight)

