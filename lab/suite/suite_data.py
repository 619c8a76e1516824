"""The characters of the suite: their clips, the pairs of clips, and the files of each at full size or with few vertices."""
import heapq, os, struct, subprocess, sys
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), 'shared')
CACHE = os.path.join(os.environ.get('SINEW_BUILD', os.path.join(ROOT, 'build')), 'suite')
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
    name = character + '-' + clip
    folder = os.path.join(SHARED, 'data', name)
    if CHARACTERS[character][2]:
        folder = os.path.join(CACHE, 'full', name)
        generate(tool, character, clip, folder)
    source = tuple(os.path.join(folder, f) for f in ('rest.obj', 'frames.pc2', 'skeleton.glb'))
    if character == 'michelle-rich':
        glb = os.path.join(SHARED, 'data', 'gltf', 'Michelle.glb')
        source = (glb, os.path.join(SHARED, 'data', character, 'frames.pc2'), glb)
    return decimate(source, os.path.join(CACHE, 'quick', name)) if quick else source


def generate(tool, character, clip, folder):
    if os.path.isdir(folder):
        return
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    work = '%s.%d' % (folder, os.getpid())
    subprocess.run([tool, 'gen', character, '--motion', clip, '--threads', '1', '--quiet', '-o', work], check=True)
    os.rename(work, folder)


def read_rest(path):
    """Positions and triangles of a rest mesh: an .obj of triangles, or a .glb with one skin."""
    if not path.endswith('.obj'):
        P, _, _, _, _, T = library().Glb(path).skin()
        return P, T
    with open(path) as f:
        lines = [line.split() for line in f]
    V = [[float(x) for x in p[1:4]] for p in lines if p[:1] == ['v']]
    T = [[int(x.split('/')[0]) - 1 for x in p[1:4]] for p in lines if p[:1] == ['f']]
    return np.array(V), np.array(T)


def read_frames(path):
    """Positions of a .pc2 file, (frames, vertices, 3)."""
    with open(path, 'rb') as f:
        _, _, vertices, _, _, frames = struct.unpack('<12siiffi', f.read(32))
        return np.frombuffer(f.read(), '<f4', frames * vertices * 3).reshape(frames, vertices, 3).astype(float)


def decimate(source, folder):
    """The clip with a sample of its vertices. The skeleton file stays: the tool finds a vertex's weights by its position."""
    out = (os.path.join(folder, 'rest.obj'), os.path.join(folder, 'frames.pc2'), source[2])
    if os.path.isdir(folder):
        return out
    V, T = read_rest(source[0])
    X = read_frames(source[1])
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
