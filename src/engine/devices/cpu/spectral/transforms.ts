/** Fourier transforms of complex rows of any length. */
import { root } from "../../../kernels/host/spectral/fft.ts";
import type { Engine } from "../engine.ts";
import { chirped } from "./chirp.ts";
import { Blocks, type Columns } from "./columns.ts";
import { GROUP, type Part } from "./lanes.ts";
import { isByRows, isSmooth, partBytes, partsAt, stagesOf, type Wanted } from "./plans.ts";
import { SCALE_BYTES, writeScales } from "./scales.ts";
import type { Transform } from "./transform.ts";
import { rowFunctions } from "./transform_module.ts";

/** Longest rows that are transformed as they are; longer ones are columns and rows of a matrix. */
const LONG = 1 << 15;
/** Least length of a row alone that is a matrix, where it is not transformed as it is. */
const LEAST_MATRIX = 64;
/** Makes the transform of rows of `n` numbers, of which a run has about so many. */
export function transformOf(engine: Engine, part: Part, n: number, rows: number): Transform {
  if (!isSmooth(n)) return chirped(engine, part, n, (m) => transformOf(engine, part, m, 1));
  const byRows = isByRows(n, part), few = rows < GROUP / (2 * partBytes(part));
  if (n > LONG || (!byRows && few && n >= LEAST_MATRIX)) {
    const first = sideOf(n);
    if (first > 1) return asMatrix(engine, part, first, n / first);
  }
  return byRows ? asRows(engine, part, n) : asBlocks(engine, part, n);
}

/** Returns the greatest divisor that is not above the root. */
function sideOf(n: number): number {
  let side = Math.floor(Math.sqrt(n));
  while (n % side !== 0) side--;
  return side;
}

function asRows(engine: Engine, part: Part, n: number): Transform {
  const { plan, radices } = stagesOf(n, part, true);
  const { rows: run } = rowFunctions(engine, part, radices);
  return {
    room: SCALE_BYTES + 4 * partBytes(part) * n,
    tables: [plan],
    run(work, [plan], { to, from, rows, toStep, fromStep, isInverse, scale }) {
      const sign = isInverse ? -1 : 1;
      writeScales(engine, part, work, [sign, scale, sign * scale]);
      run(to, from, rows, toStep, fromStep, plan, work + SCALE_BYTES, work);
    },
  };
}

function asBlocks(engine: Engine, part: Part, n: number): Transform {
  const blocks = new Blocks(engine, part, n), number = 2 * partBytes(part);
  return {
    room: SCALE_BYTES + blocks.room,
    tables: [blocks.stages.plan],
    run(work, [plan], { to, from, rows, toStep, fromStep, isInverse, scale }) {
      const sign = isInverse ? -1 : 1;
      writeScales(engine, part, work, [sign, scale, sign * scale]);
      const columns: Columns = {
        to,
        from,
        lanes: rows,
        ofTo: [number, toStep],
        ofFrom: [number, fromStep],
      };
      blocks.run(work + SCALE_BYTES, plan, work, columns);
    },
  };
}

/** Factors of a product that turns a matrix between its transforms: of the first 16 rows, and of each 16th. */
const TWISTED = 16;

/** A row as a matrix: its columns are transformed and turned, then the rows (Bailey 1990). */
function asMatrix(engine: Engine, part: Part, height: number, width: number): Transform {
  const bytes = partBytes(part), number = 2 * bytes, n = height * width;
  const columns = new Blocks(engine, part, height), rows = new Blocks(engine, part, width);
  const high = Math.ceil(height / TWISTED), lanes = GROUP / number;
  const line = Math.ceil(width / lanes) * GROUP;
  const twists: Wanted = {
    key: `${part} twist ${height} ${width}`,
    bytes: (TWISTED + high) * line,
    write(at, memory) {
      const y = partsAt(part, memory, at, (TWISTED + high) * line / bytes);
      for (let i = 0, to = 0; i < TWISTED + high; i++) {
        const row = i < TWISTED ? i : TWISTED * (i - TWISTED);
        for (let j = 0; j < line / number; j++) {
          [y[to], y[to + lanes]] = root(row * j % n, n);
          to += (j + 1) % lanes === 0 ? lanes + 1 : 1;
        }
      }
    },
  };
  const second = 2 * SCALE_BYTES + number * n;
  return {
    room: second + Math.max(columns.room, rows.room),
    tables: [columns.stages.plan, rows.stages.plan, twists],
    run(work, [ofColumns, ofRows, turns], { rows: count, isInverse, scale, ...at }) {
      const sign = isInverse ? -1 : 1, scales = work + SCALE_BYTES, middle = scales + SCALE_BYTES;
      writeScales(engine, part, work, [sign, 1, 1]);
      writeScales(engine, part, scales, [1, scale, sign * scale]);
      const unit = columns.width;
      for (let r = 0; r < count; r++) {
        columns.run(work + second, ofColumns, work, {
          to: middle,
          from: at.from + r * at.fromStep,
          lanes: width,
          ofTo: [number, number * height],
          ofFrom: [number * width, number],
          change(block, lane) {
            const used = Math.min(unit, Math.ceil((width - lane) / lanes) * GROUP);
            const low = turns + lane / lanes * GROUP;
            const { twist } = columns.functions;
            twist(block, height, used, low, TWISTED, low + TWISTED * line, line);
          },
        });
        rows.run(work + second, ofRows, scales, {
          to: at.to + r * at.toStep,
          from: middle,
          lanes: height,
          ofTo: [number * height, number],
          ofFrom: [number * height, number],
        });
      }
    },
  };
}
