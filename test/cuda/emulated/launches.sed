# What C++ cannot read of a .cu file: launches, and memory that a block shares.
s/\b([A-Za-z_]+)<<<(.*)>>>\(/emulated(\1, \2)(/
s/extern __shared__/extern/
s/__shared__/static/
