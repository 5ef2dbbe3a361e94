// Programs of pages over packages that look at pictures: reading text, removing backgrounds, and onnxruntime's own images.
// The page that runs them has the packages.
let Ocr, imgly, ort;

/** Letters as rows of points, so that no font of a system makes a difference. */
const LETTERS = {
  W: ["10001", "10001", "10001", "10101", "10101", "11011", "10001"],
  E: ["11111", "10000", "10000", "11110", "10000", "10000", "11111"],
  F: ["11111", "10000", "10000", "11110", "10000", "10000", "10000"],
  T: ["11111", "00100", "00100", "00100", "00100", "00100", "00100"],
  2: ["01110", "10001", "00001", "00110", "01000", "10000", "11111"],
  6: ["00110", "01000", "10000", "11110", "10001", "10001", "01110"],
};

/** A picture of words, one below the other, as a URL. */
function written(...words) {
  const point = 5, canvas = document.createElement("canvas");
  canvas.width = 320;
  canvas.height = 128 * words.length;
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "black";
  words.forEach((word, row) =>
    [...word].forEach((letter, at) =>
      LETTERS[letter].forEach((line, y) =>
        [...line].forEach((on, x) => {
          if (on === "0") return;
          const left = 40 + (at * 6 + x) * point, top = 128 * row + 40 + y * point;
          context.fillRect(left, top, point, point);
        })
      )
    )
  );
  return canvas.toDataURL();
}

async function ocr({ models, onnxOptions }) {
  const reader = await Ocr.create({
    onnxOptions,
    models: {
      detectionPath: `${models}/ch_PP-OCRv4_det_infer.onnx`,
      recognitionPath: `${models}/ch_PP-OCRv4_rec_infer.onnx`,
      dictionaryPath: `${models}/ppocr_keys_v1.txt`,
    },
  });
  return (await reader.detect(written("WEFT", "262"))).map(({ text, mean, box }) => ({
    text,
    mean,
    box,
  }));
}

/** A picture of colours, and pixels of some of its places. */
function gradient(width, height) {
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    image.data.set([i % width * 3, Math.floor(i / width) * 4, i % 7 * 30, 255], 4 * i);
  }
  return image;
}
const pixels = (
  { data, width, height },
) => [width, height, ...data.filter((_, i) => i % 997 === 3 || i % 991 === 0)];

async function toBlob(image) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").putImageData(image, 0, 0);
  return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

async function pixelsOf(blob) {
  const bitmap = await createImageBitmap(blob),
    canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  return pixels(context.getImageData(0, 0, bitmap.width, bitmap.height));
}

async function background({ publicPath, device }) {
  const config = {
    publicPath: new URL(publicPath, location.href).href,
    device,
    model: "isnet",
    debug: false,
  };
  const picture = await toBlob(gradient(64, 48));
  const output = { format: "image/x-rgba8", quality: 1 };
  const raw = await imgly.segmentForeground(picture, { ...config, output });
  const bytes = new Uint8Array(await raw.arrayBuffer());
  return {
    type: raw.type,
    mask: [...bytes.filter((_, i) => i % 97 === 3)],
    removed: await pixelsOf(await imgly.removeBackground(picture, config)),
  };
}

/** onnxruntime's tensors of pictures and back. */
async function images() {
  const told = {}, image = gradient(6, 4), blob = await toBlob(image), url = written("WE");
  const bitmap = await createImageBitmap(blob), element = new Image();
  element.src = URL.createObjectURL(blob);
  await element.decode();
  const sources = { data: image, bitmap, element, url };
  const options = {
    none: [],
    rgb: [{ tensorFormat: "RGB" }],
    bgr: [{ tensorFormat: "BGR", norm: { mean: [128, 127, 64], bias: [1, 2, 3] } }],
    rgba: [{ tensorFormat: "RGBA", norm: { mean: 2, bias: [1, 2, 3, 4] } }],
    resized: [{ resizedWidth: 3, resizedHeight: 2 }],
  };
  const tell = async (name, tell) => {
    try {
      told[name] = await tell();
    } catch (e) {
      told[name] = String(e.message ?? e);
    }
  };
  for (const [from, source] of Object.entries(sources)) {
    for (const [how, args] of Object.entries(options)) {
      const name = `${from} ${how}`;
      let tensor;
      await tell(name, async () => {
        tensor = await ort.Tensor.fromImage(source, ...structuredClone(args));
        return [
          tensor.type,
          ...tensor.dims,
          ...[...tensor.data].filter((_, i) => i < 12 || i % 997 === 0),
        ];
      });
      if (tensor === undefined) continue;
      for (const format of ["RGB", "BGR", "RGBA", undefined]) {
        const norm = { mean: args[0]?.norm?.mean ?? 255, bias: [1, 2, 3] };
        await tell(`${name} to ${format}`, () => pixels(tensor.toImageData({ format, norm })));
      }
      await tell(`${name} plain`, () => pixels(tensor.toImageData()));
      await tell(`${name} drawn`, async () => {
        const drawn = new Image();
        drawn.src = tensor.toDataURL({ format: tensor.dims[1] === 4 ? "RGBA" : "RGB" });
        await drawn.decode();
        return await pixelsOf(await (await fetch(drawn.src)).blob());
      });
    }
  }
  return told;
}

const PROGRAMS = { ocr, background, images };

/** Runs a program over onnxruntime, whose own files lie at `wasm`. */
export async function run(packages, name, { wasm, ...options }) {
  ({ Ocr, imgly, ort } = packages);
  if (wasm !== undefined) ort.env.wasm.wasmPaths = new URL(wasm, location.href).href;
  return await PROGRAMS[name](options);
}
