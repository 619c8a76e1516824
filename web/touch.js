// SPDX-License-Identifier: MIT
// Mouse and fingers on the stage: picking joints, rotating and dragging them, dragging control points. What none of these
// takes goes to the camera.

export class Touch {
  constructor(viewer, canvas) {
    this.viewer = viewer, this.canvas = canvas;
    this.drag = null;
    this.tap = null; // where a finger or button went down
    // Before OrbitControls sees them.
    canvas.addEventListener('pointerdown', e => this.down(e), { capture: true });
    addEventListener('pointermove', e => this.move(e));
    addEventListener('pointerup', e => this.up(e));
    addEventListener('pointercancel', e => this.up(e));
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  // The nearest of `points` within reach, or -1.
  nearest(points, pane, { x, y }, reach) {
    let best = -1, least = reach;
    points.forEach((p, k) => {
      const at = this.viewer.stage.project(p, pane), d = Math.hypot(at.x - x, at.y - y);
      if (d <= least && at.z < 1) best = k, least = d;
    });
    return best;
  }

  down(event) {
    if (event.button !== 0 || !event.isPrimary) return;
    const { viewer } = this, { stage } = viewer, at = this.place(event), pane = stage.paneAt(at.x, at.y);
    if (pane < 0 || !viewer.set) return;
    const reach = event.pointerType === 'touch' ? 26 : 13;
    this.drag = this.takeControl(at, pane, reach);
    if (viewer.jointed(stage.panes[pane])) this.drag ??= this.takeRing(at, pane, reach) ?? this.takeHandle(at, pane, reach);
    this.tap = this.drag ? null : { at, pane };
    if (!this.drag) return;
    stage.controls.enabled = false;
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
  }

  takeControl(at, pane, reach) {
    if (this.viewer.stage.panes[pane].entry !== this.viewer.chosen) return null;
    const points = this.viewer.controlPoints(), k = this.nearest(points, pane, at, reach);
    if (k < 0) return null;
    this.viewer.pickControl(k);
    this.viewer.remember();
    return { pane, move: to => this.viewer.edit(() => this.viewer.chosen.controls.set(this.viewer.stage.unproject(to.x, to.y, points[k], pane), 3 * k)) };
  }

  takeRing(at, pane, reach) {
    const { viewer } = this, { joint, tool, bones } = viewer.state;
    if (joint < 0 || tool !== 'rotate' || !bones) return null;
    const centre = viewer.pose.position(joint), axes = viewer.pose.axes(joint);
    viewer.overlay.placeRings(centre, axes, viewer.stage.pixel(centre, pane));
    const ring = viewer.overlay.pickRing(viewer.stage, pane, at.x, at.y, reach);
    if (!ring) return null;
    viewer.remember();
    let last = at;
    return { pane, move: to => {
      const along = (to.x - last.x) * ring.way[0] + (to.y - last.y) * ring.way[1];
      last = to;
      viewer.turn(joint, axes[ring.axis], along / 62);
    } };
  }

  takeHandle(at, pane, reach) {
    const { viewer } = this, handles = viewer.state.bones ? viewer.handles() : [];
    const k = this.nearest(handles.map(h => h.at), pane, at, reach);
    if (k < 0) return null;
    const end = handles[k];
    viewer.pick(end.joint);
    if (viewer.state.tool !== 'pull') return { pane, move: () => {} };
    let started = false;
    return { pane, move: to => {
      if (!started) viewer.remember(), started = true;
      viewer.edit(() => viewer.pose.pull(end, viewer.stage.unproject(to.x, to.y, end.at, pane)));
    } };
  }

  move(event) {
    if (this.drag && event.isPrimary) this.drag.move(this.place(event));
  }

  up(event) {
    const { viewer, tap } = this, at = this.place(event);
    this.tap = null;
    if (tap && event.isPrimary && event.type === 'pointerup' && viewer.state.colour === 'weights' && Math.hypot(at.x - tap.at.x, at.y - tap.at.y) < 6) {
      viewer.pickBoneAt(at.x, at.y, tap.pane);
    }
    if (!this.drag || !event.isPrimary) return;
    this.drag = null;
    this.viewer.stage.controls.enabled = true;
  }
}
