// Pictures of one section side by side, kept small, and compared.
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

// The share of pixels that may differ, in the whole picture and in any of its tiles: another version of the browser rounds corners of letters in
// another way. A missing curve or label is little of a long section and much of its tile.
const MOST = 0.003;
const TILE = 64;
const MOST_OF_TILE = 0.06;
const GAP = 8;

// Four pictures as one. Colours keep their four highest bits, which makes the file a third as large.
export function joined(shots) {
  const all = shots.map(shot => PNG.sync.read(shot));
  const width = all.reduce((sum, one) => sum + one.width + GAP, -GAP);
  const height = Math.max(...all.map(one => one.height));
  const sheet = new PNG({ width, height });
  sheet.data.fill(255);
  let x = 0;
  for (const one of all) {
    for (let i = 0; i < one.data.length; i++) one.data[i] = Math.round(one.data[i] / 17) * 17;
    PNG.bitblt(one, sheet, 0, 0, one.width, one.height, x, 0);
    x += one.width + GAP;
  }
  return PNG.sync.write(sheet, { colorType: 2, inputHasAlpha: true, deflateLevel: 9, deflateStrategy: 0, filterType: -1 });
}

// What differs between the stored picture and the one just made; nothing where they are alike.
export function compare(stored, made) {
  const [one, other] = [stored, made].map(bytes => PNG.sync.read(bytes));
  if (one.width !== other.width || Math.abs(one.height - other.height) > 2) {
    return { text: `it is ${other.width} by ${other.height} pixels, the committed one ${one.width} by ${one.height}` };
  }
  const [width, height] = [one.width, Math.min(one.height, other.height)];
  const size = 4 * width * height;
  const difference = new PNG({ width, height });
  const count = pixelmatch(one.data.subarray(0, size), other.data.subarray(0, size), difference.data, width, height, { threshold: 0.15 });
  const share = count / (width * height);
  const tile = worstTile(difference);
  if (share <= MOST && tile.share <= MOST_OF_TILE) return null;
  const where = `${(100 * tile.share).toFixed(1)} % around ${tile.x}, ${tile.y}`;
  return { text: `${(100 * share).toFixed(2)} % of the pixels differ, ${where}`, difference: PNG.sync.write(difference) };
}

// The tile with the largest share of pixels that differ, which are drawn in red, and its middle.
function worstTile({ data, width, height }) {
  let worst = { share: 0, x: 0, y: 0 };
  for (let top = 0; top < height; top += TILE) {
    for (let left = 0; left < width; left += TILE) {
      let count = 0;
      for (let y = top; y < Math.min(top + TILE, height); y++) {
        for (let x = left; x < Math.min(left + TILE, width); x++) {
          const at = 4 * (y * width + x);
          if (data[at] === 255 && data[at + 1] === 0 && data[at + 2] === 0) count++;
        }
      }
      const share = count / (TILE * TILE);
      if (share > worst.share) worst = { share, x: left + TILE / 2, y: top + TILE / 2 };
    }
  }
  return worst;
}
