# python3 export_reference.py FOLDER TABLE.json POSES.json: what helpers.py of that folder makes of the poses, a line per helper, then per shape.
import json
import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import helpers

table, poses = (json.load(open(path)) for path in sys.argv[2:])
for pose in poses:
    for translation, rotation, scale, added in helpers.evaluate(table, pose):
        print(*translation, *rotation, scale, *(x for column in added for x in column))
    for weight in helpers.shape_weights(table, pose):
        print(weight)
