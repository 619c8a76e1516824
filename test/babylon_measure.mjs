// What Babylon.js makes of a GLB whose behaviour graph (KHR_interactivity) drives its helper joints or morph targets, against frames: for an engine of any kind.
// The graph ticks as scenes are rendered, and vertices are skinned by Babylon's own influences and bone matrices; its scenes are left-handed, x is mirrored.
// truth: {frames, count, at(frame, vertex, coordinate)}. Returns {max, frames, vertices}; max is over the diagonal of the first frame.
export async function measure(core, engine, url, truth, fps) {
  const { Scene, Vector3, SceneLoader } = core, scene = new Scene(engine);
  SceneLoader.ShowLoadingScreen = false;
  await SceneLoader.AppendAsync("", url, scene, undefined, ".glb");
  scene.createDefaultCameraOrLight(true, true, false);
  await scene.whenReadyAsync();
  const clip = scene.animationGroups[0];
  const low = [0, 1, 2].map((c) => Math.min(...Array.from({ length: truth.count }, (_, i) => truth.at(0, i, c))));
  const high = [0, 1, 2].map((c) => Math.max(...Array.from({ length: truth.count }, (_, i) => truth.at(0, i, c))));
  const diagonal = Math.hypot(...high.map((x, c) => x - low[c]));
  clip.start(false), clip.pause();
  const mesh = scene.meshes.find((m) => m.skeleton);
  const positions = mesh.getVerticesData("position"), targets = mesh.morphTargetManager, indices = mesh.getVerticesData("matricesIndices"), weights = mesh.getVerticesData("matricesWeights");
  const more = mesh.getVerticesData("matricesIndicesExtra"), moreWeights = mesh.getVerticesData("matricesWeightsExtra");
  let max = 0;
  for (let f = 0; f < truth.frames; f++) {
    clip.goToFrame(clip.from + (f / Number(fps)) * 60);
    scene.render(), scene.render(); // the graph reads what the first one computed
    mesh.skeleton.prepare(true);
    const matrices = mesh.skeleton.getTransformMatrices(mesh), world = mesh.computeWorldMatrix(true);
    for (let i = 0; i < truth.count; i++) {
      const rest = Vector3.FromArray(positions, 3 * i), v = rest.clone(), sum = new Vector3();
      for (let k = 0; k < (targets?.numTargets ?? 0); k++) {
        const target = targets.getTarget(k);
        v.addInPlace(Vector3.FromArray(target.getPositions(), 3 * i).subtract(rest).scale(target.influence));
      }
      for (const [index, weight] of [[indices, weights], [more, moreWeights]]) for (let k = 0; index && k < 4; k++) {
        if (weight[4 * i + k] === 0) continue;
        const m = core.Matrix.FromArray(matrices, 16 * index[4 * i + k]);
        sum.addInPlace(Vector3.TransformCoordinates(v, m).scale(weight[4 * i + k]));
      }
      const p = Vector3.TransformCoordinates(sum, world);
      max = Math.max(max, Math.hypot(-p.x - truth.at(f, i, 0), p.y - truth.at(f, i, 1), p.z - truth.at(f, i, 2)));
    }
  }
  return { max: max / diagonal, frames: truth.frames, vertices: truth.count };
}
