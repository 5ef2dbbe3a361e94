// Convolutions as gathers: each place of the result reads taps of an image. The convolution itself and the gradient of its image
// are the same walk with different numbers: place t of phase f reads position t * mul + add + u * step for its taps f + u * phases,
// u = 0, 1, ... (A stride makes phases of the gradient: neighbouring places meet different taps.) Axes are z, y, x; n is the image.

const DEEP = true; //#param There is a depth axis.
const PHASED = false; //#param There is more than one phase.

struct Params {
  zrows: u32, zmul: u32, zadd: i32, zstep: i32, zlimit: u32, ztaps: u32, zphases: u32, zomul: u32, zoadd: i32, zolimit: u32,
  yrows: u32, ymul: u32, yadd: i32, ystep: i32, ylimit: u32, ytaps: u32, yphases: u32, yomul: u32, yoadd: i32, yolimit: u32,
  xrows: u32, xmul: u32, xadd: i32, xstep: i32, xlimit: u32, xtaps: u32, xphases: u32, xomul: u32, xoadd: i32, xolimit: u32,
}
@group(0) @binding(0) var<uniform> p: Params;

// Whether a place of the result is inside, and its pixel.
fn out_inside(z: u32, y: u32, x: u32) -> bool { return (z < p.zolimit) & (y < p.yolimit) & (x < p.xolimit); } //#inline DEEP
//: fn out_inside(z: u32, y: u32, x: u32) -> bool { return (y < p.yolimit) & (x < p.xolimit); } //#inline
fn out_pixel(n: u32, z: u32, y: u32, x: u32) -> u32 { return ((n * p.zolimit + z) * p.yolimit + y) * p.xolimit + x; } //#inline DEEP
//: fn out_pixel(n: u32, z: u32, y: u32, x: u32) -> u32 { return (n * p.yolimit + y) * p.xolimit + x; } //#inline

fn places(PHASE: u32, ROW: u32) {
  // The phase as fz, fy, fx, and the number of its taps as nz, ny, nx.
  //#piece phase PHASE
  //#if PHASED
  //: let fx = PHASE % p.xphases; let qx = PHASE / p.xphases; let nx = (p.xtaps + p.xphases - 1u - fx) / p.xphases;
  //#if DEEP
  //: let fy = qx % p.yphases; let fz = qx / p.yphases;
  //: let ny = (p.ytaps + p.yphases - 1u - fy) / p.yphases;
  //: let nz = (p.ztaps + p.zphases - 1u - fz) / p.zphases;
  //#else
  //: let fy = qx; let ny = (p.ytaps + p.yphases - 1u - fy) / p.yphases;
  //#end
  //#else
  let fz = 0u; let nz = p.ztaps; //#if DEEP
  let fy = 0u; let ny = p.ytaps;
  let fx = 0u; let nx = p.xtaps;
  //#end
  //#end

  // Row ROW, which must exist, as its image and places: n_S, z_S, y_S, x_S.
  //#piece split ROW S
  let x_S = ROW % p.xrows; let xr_S = ROW / p.xrows;
  let y_S = xr_S % p.yrows; let yr_S = xr_S / p.yrows;
  let z_S = yr_S % p.zrows; let n_S = yr_S / p.zrows; //#if DEEP
  //: let n_S = yr_S; //#if !DEEP
  //#end

  // The first position that a place reads.
  //#piece origin S
  let z0_S = i32(z_S * p.zmul) + p.zadd; //#if DEEP
  let y0_S = i32(y_S * p.ymul) + p.yadd;
  let x0_S = i32(x_S * p.xmul) + p.xadd;
  //#end

  // Where the result of a place goes.
  //#piece out S
  let zo_S = u32(i32(z_S * p.zomul + fz) + p.zoadd); //#if DEEP
  let yo_S = u32(i32(y_S * p.yomul + fy) + p.yoadd);
  let xo_S = u32(i32(x_S * p.xomul + fx) + p.xoadd);
  //#end
}
