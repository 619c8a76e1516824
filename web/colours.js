// SPDX-License-Identifier: MIT
// Colours that differ for colour-blind eyes too: Okabe and Ito's for lines, viridis for values.

export const lineColours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7f6a00', '#666666'];
// Seven dashes to eight colours: every pair is used before one comes again.
export const lineDashes = ['', '7 3', '2 3', '9 3 2 3', '12 4', '4 2', '10 2 2 2 2 2'];
export const lineColour = k => lineColours[k % lineColours.length];
export const lineDash = k => lineDashes[k % lineDashes.length];

const viridis = ['#440154', '#482878', '#3e4a89', '#31688e', '#26828e', '#1f9e89', '#35b779', '#6ece58', '#b5de2b', '#fde725'];

export const rampCss = `linear-gradient(to right, ${viridis.join(',')})`;

// RGBA bytes of `size` steps from low to high.
export function rampBytes(size) {
  const stops = viridis.map(text => [1, 3, 5].map(k => parseInt(text.slice(k, k + 2), 16)));
  const out = new Uint8Array(4 * size);
  for (let n = 0; n < size; n++) {
    const at = n / (size - 1) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
    for (let c = 0; c < 3; c++) out[4 * n + c] = Math.round(stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]));
    out[4 * n + 3] = 255;
  }
  return out;
}
