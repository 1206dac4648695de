"use strict";
// The events of the page and what is computed of them; no drawing, no document.
const timelineData = (function () {
  // Base64 as bytes.
  function bytes(text) {
    const binary = atob(text);
    const out = new Uint8Array(binary.length);
    for (let i = 0; i < out.length; i++) out[i] = binary.charCodeAt(i);
    return out;
  }

  // LEB128 as numbers: by multiplication, for shifts stop at 32 bits.
  function varints(data, count) {
    const out = new Float64Array(count);
    let at = 0;
    for (let i = 0; i < count; i++) {
      let value = data[at] & 127;
      for (let scale = 128; data[at++] & 128; scale *= 128) value += (data[at] & 127) * scale;
      out[i] = value;
    }
    return out;
  }

  function sums(values) {
    for (let i = 1; i < values.length; i++) values[i] += values[i - 1];
    return values;
  }

  function unzigzag(value) {
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  // A lane as columns: starts, ends, names, and reach, the latest end of all events up to each.
  function lane(packed) {
    const count = packed.count;
    const starts = sums(varints(bytes(packed.starts), count));
    const ends = varints(bytes(packed.lengths), count);
    const names = varints(bytes(packed.names), count);
    const reach = new Float64Array(count);
    for (let i = 0, latest = 0; i < count; i++) {
      ends[i] += starts[i];
      latest = Math.max(latest, ends[i]);
      reach[i] = latest;
    }
    let launch = null;
    if (packed.launch !== undefined) {
      launch = varints(bytes(packed.launch), count);
      for (let i = 0, last = 0; i < count; i++) launch[i] = launch[i] ? (last += unzigzag(launch[i] - 1)) : -1;
    }
    return { title: packed.title, rank: packed.rank, launches: packed.launches, starts, ends, names, reach, launch };
  }

  function series(packed) {
    const raw = bytes(packed.values);
    const view = new DataView(raw.buffer);
    const values = new Float64Array(packed.count);
    for (let i = 0; i < packed.count; i++) values[i] = view.getFloat64(8 * i, true);
    return { title: packed.title, at: sums(varints(bytes(packed.at), packed.count)), values };
  }

  // The first index at which an ascending array is over (or, with equal, not under) a value.
  function first(ascending, value, equal) {
    let low = 0;
    let high = ascending.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ascending[middle] > value || (equal && ascending[middle] === value)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The events [from, to) that may be seen between two times; a few in between may have ended before.
  function visible(lane, start, end) {
    let from = first(lane.reach, start, true);
    return [from, Math.max(from, first(lane.starts, end, true))];
  }

  // What to draw of a lane between two times on so many columns.
  //   boxes: [event, left, right] of what is at least two columns wide
  //   covered: busy share of each column by kind, kinds after one another; what overlaps counts once
  //   present: 1 + kind of something in the column, 0 where there is nothing
  //   busy: share of the time between that is busy
  function decimate(lane, nameKinds, kinds, start, end, columns) {
    const [from, to] = visible(lane, start, end);
    const scale = columns / (end - start);
    const boxes = [];
    const covered = new Float32Array(kinds * columns);
    const present = new Uint8Array(columns);
    let reach = start;
    let busy = 0;
    for (let i = from; i < to; i++) {
      const a = Math.max(lane.starts[i], start);
      const b = Math.min(lane.ends[i], end);
      if (b < a) continue;
      const alone = Math.max(a, reach);
      if (b > alone) busy += b - alone;
      const left = (a - start) * scale;
      const right = (b - start) * scale;
      if (right - left >= 2) {
        boxes.push([i, left, right, a < reach]);
      } else {
        const kind = nameKinds[lane.names[i]];
        const column = Math.min(Math.floor(left), columns - 1);
        if (!present[column]) present[column] = 1 + kind;
        const begin = (alone - start) * scale;
        for (let c = Math.floor(begin); b > alone && c < Math.min(right, columns); c++) {
          covered[kind * columns + c] += Math.min(right, c + 1) - Math.max(begin, c);
          if (!present[c]) present[c] = 1 + kind;
        }
      }
      if (b > reach) reach = b;
    }
    return { boxes, covered, present, busy: busy / (end - start) };
  }

  // The events of a lane in a span of time, and the longest of them; -1 where there is none.
  function among(lane, start, end) {
    const [from, to] = visible(lane, start, end);
    let count = 0;
    let longest = -1;
    for (let i = from; i < to; i++) {
      if (lane.ends[i] < start) continue;
      count++;
      // The later of two is the inner one where one contains the other.
      const over = longest >= 0 && lane.starts[i] <= start && lane.ends[i] >= end;
      if (longest < 0 || over || lane.ends[i] - lane.starts[i] > lane.ends[longest] - lane.starts[longest]) longest = i;
    }
    return { count, longest };
  }

  // A time in the unit a reader would choose, as the rest of the report writes it.
  function duration(ns) {
    const size = Math.abs(ns) / 1e9;
    for (const [unit, scale] of [["s", 1], ["ms", 1e3], ["us", 1e6]]) {
      if (size * scale >= 0.9995) return ((ns / 1e9) * scale).toFixed(size * scale < 100 ? 2 : 1) + " " + unit;
    }
    return ns.toFixed(0) + " ns";
  }

  function percent(share) {
    if (share > 0 && share < 0.0005) return "< 0.1 %";
    if (share >= 0.9995 && share < 1) return "> 99.9 %";
    return (share * 100).toFixed(1) + " %";
  }

  function whole(ns) {
    return ns.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
  }

  // Marks of an axis: about one in so many columns, on round times, with as many digits as their distance needs.
  function ticks(start, end, wanted) {
    const rough = (end - start) / Math.max(wanted, 1);
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = Math.max(power * [1, 2, 5, 10].find((factor) => factor * power >= rough), 1);
    const [unit, scale] = end >= 1e9 ? ["s", 1e9] : end >= 1e6 ? ["ms", 1e6] : end >= 1e3 ? ["us", 1e3] : ["ns", 1];
    const digits = Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9));
    const marks = [];
    for (let at = Math.ceil(start / step) * step; at <= end; at += step) {
      marks.push([at, (at / scale).toFixed(digits) + " " + unit]);
    }
    return marks;
  }

  return { bytes, varints, lane, series, first, visible, decimate, among, duration, percent, whole, ticks };
})();
if (typeof module !== "undefined") module.exports = timelineData;
