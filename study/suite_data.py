"""The characters of the suite: their clips, the pairs of clips, and the files of each at full size or with few vertices."""
import heapq, os, struct, subprocess, sys
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED = os.path.join(os.path.dirname(ROOT), 'shared')
CACHE = os.path.join(ROOT, 'build', 'suite')
QUICK_VERTICES = 1500

# Character: group, clips (the first is the range of motion where it is called rom), whether it is generated.
CHARACTERS = {
    'soldier': ('B', ['rom', 'walk', 'run', 'mixed'], False),
    'fox': ('A', ['rom', 'walk', 'run', 'mixed'], False),
    'cesiumman': ('B', ['rom', 'walk', 'mixed'], False),
    'cheburashka': ('A', ['rom', 'pose', 'pose-b'], False),
    'michelle-rich': ('B', ['dance'], False),
    'arm': ('A', ['rom', 'mixed', 'extreme'], True),
    'shoulder': ('A', ['rom', 'mixed', 'extreme'], True),
    'body': ('A', ['rom', 'mixed', 'extreme'], True),
    'leg': ('B', ['rom', 'mixed', 'extreme'], True),
    'elbow': ('B', ['rom', 'mixed', 'extreme'], True),
    'athlete': ('B', ['rom', 'mixed', 'extreme'], True),
}
HALVES = {'cheburashka': [('pose', 'first')], 'michelle-rich': [('dance', 'first'), ('dance', 'second')]}
# Pairs whose bars `auto` has to meet too.
AUTO = ['cheburashka rom > pose', 'cheburashka pose > pose-b', 'cheburashka rom+pose > pose-b',
        'cheburashka pose first half > second half']


def trainings(character):
    """[(name of the training, clips, every, half or None, clips to test on)] of a character."""
    clips = CHARACTERS[character][1]
    out = [(c, [c], 1, None, [t for t in clips if t != c]) for c in clips if len(clips) > 1]
    if 'rom' in clips:
        out.insert(1, ('rom/2', ['rom'], 2, None, [t for t in clips if t != 'rom']))
    if character == 'cheburashka':
        out.append(('rom+pose', ['rom', 'pose'], 1, None, ['pose-b']))
    for clip, half in HALVES.get(character, []):
        out.append((clip + ' ' + half + ' half', [clip], 1, half, []))
    return out


def pair_name(character, training, test):
    """The pair's name in tables and result files; `test` is None where one half is tested on the other."""
    if test is None:
        test = ('second' if 'first' in training else 'first') + ' half'
    return '%s %s > %s' % (character, training, test)


def at_hand(character):
    return CHARACTERS[character][2] or os.path.isdir(os.path.join(SHARED, 'data'))


def library():
    """The readers beside the data."""
    if os.path.join(SHARED, 'check') not in sys.path:
        sys.path.insert(0, os.path.join(SHARED, 'check'))
    import skinlib
    return skinlib


def files(character, clip, quick, tool):
    """(rest, frames, skeleton) of a clip. Makes what does not exist yet."""
    folder = os.path.join(CACHE, 'quick' if quick else 'full', character + '-' + clip)
    if CHARACTERS[character][2]:
        generate(tool, character, clip, quick, folder)
        return tuple(os.path.join(folder, f) for f in ('rest.obj', 'frames.pc2', 'skeleton.glb'))
    data = os.path.join(SHARED, 'data')
    if character == 'michelle-rich':
        glb = os.path.join(data, 'gltf', 'Michelle.glb')
        source = (glb, os.path.join(data, character, 'frames.pc2'), glb)
    else:
        source = tuple(os.path.join(data, character + '-' + clip, f) for f in ('rest.obj', 'frames.pc2', 'skeleton.glb'))
    return decimate(source, folder) if quick else source


def generate(tool, character, clip, quick, folder):
    if os.path.exists(os.path.join(folder, 'skeleton.glb')):
        return
    size = ['--vertices', str(QUICK_VERTICES)] if quick else []
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    work = '%s.%d' % (folder, os.getpid())
    subprocess.run([tool, 'gen', character, '--motion', clip, '--threads', '1', '--quiet', '-o', work] + size, check=True)
    os.rename(work, folder)


def read_rest(path):
    """Positions and triangles of a rest mesh, .obj or a .glb with one skin."""
    lib = library()
    if path.endswith('.obj'):
        return lib.read_obj(path)
    P, _, _, _, _, T = lib.Glb(path).skin()
    return P, T


def decimate(source, folder):
    """The clip with a sample of its vertices. The skeleton file stays: the tool finds a vertex's weights by its position."""
    out = (os.path.join(folder, 'rest.obj'), os.path.join(folder, 'frames.pc2'), source[2])
    if os.path.exists(out[1]):
        return out
    V, T = read_rest(source[0])
    X = library().read_pc2(source[1])
    if len(V) > QUICK_VERTICES:
        chosen = sample(V, QUICK_VERTICES)
        T = collapse(T, nearest(V, T, chosen))
        V, X = V[chosen], X[:, chosen]
    work = '%s.%d' % (folder, os.getpid())
    os.makedirs(work)
    with open(work + '/rest.obj', 'w') as f:
        f.writelines('v %.9g %.9g %.9g\n' % tuple(v) for v in V)
        f.writelines('f %d %d %d\n' % tuple(t + 1) for t in T)
    with open(work + '/frames.pc2', 'wb') as f:
        f.write(struct.pack('<12siiffi', b'POINTCACHE2\0', 1, len(V), 0.0, 1.0, len(X)))
        f.write(X.astype('<f4').tobytes())
    os.rename(work, folder)
    return out


def sample(V, count):
    """Farthest-point sample; begins at the vertex farthest from the centre."""
    chosen = [int(((V - V.mean(0))**2).sum(1).argmax())]
    d = ((V - V[chosen[0]])**2).sum(1)
    while len(chosen) < count:
        chosen.append(int(d.argmax()))
        d = np.minimum(d, ((V - V[chosen[-1]])**2).sum(1))
    return np.sort(chosen)


def nearest(V, T, chosen):
    """The sample nearest to each vertex along the edges, as an index into `chosen`; -1 where none is connected."""
    _, point = np.unique(np.round(V / np.ptp(V, axis=0).max() * 1e6).astype(np.int64), axis=0, return_inverse=True)
    point = point.reshape(-1)
    position = np.zeros((point.max() + 1, 3))
    position[point] = V
    edges = [set() for _ in position]
    for t in point[T]:
        for a in t:
            edges[a].update(t)
    owner = -np.ones(len(position), int)
    heap = [(0.0, k, int(point[v])) for k, v in enumerate(chosen)]
    while heap:
        d, k, a = heapq.heappop(heap)
        if owner[a] >= 0:
            continue
        owner[a] = k
        for b in edges[a]:
            if owner[b] < 0:
                heapq.heappush(heap, (d + float(np.linalg.norm(position[a] - position[b])), k, b))
    return owner[point]


def collapse(T, owner):
    """Triangles between samples, without degenerate ones and duplicates."""
    T = owner[T]
    T = T[(T >= 0).all(1) & (T[:, 0] != T[:, 1]) & (T[:, 1] != T[:, 2]) & (T[:, 0] != T[:, 2])]
    _, first = np.unique(np.sort(T, axis=1), axis=0, return_index=True)
    return T[np.sort(first)]
