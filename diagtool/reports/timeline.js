"use strict";
// Draws the events of the page on a canvas and lets the reader move through them.
(function () {
  const T = timelineData;
  const packed = JSON.parse(document.getElementById("timeline-data").textContent);
  const canvas = document.getElementById("timeline-canvas");
  const tip = document.getElementById("timeline-tip");
  const picked = document.getElementById("timeline-picked");
  const names = packed.names;
  const nameKinds = packed.nameKinds;
  const lanes = packed.lanes.map(T.lane);
  const series = packed.series.map(T.series);
  const launches = lanes.filter((lane) => lane.launches);
  const VARIABLES = ["compute", "communication", "copy", "call", "blocking", "copy", "step", "operator"];
  const NARROW = 640;
  const LANE = 19, GAP = 5, CAPTION = 15, AXIS = 24, OVERVIEW = 5, CHART = 58, LEAST_NS = 50, PAD = 0.004;

  const fit = { start: -packed.length * PAD || -1, end: packed.length * (1 + PAD) || 1 };
  let view = { ...fit };
  let colours = null;
  let layout = null;
  let chosen = null;
  let hovered = null;
  let waiting = false;

  // The launch of a device event as [lane, index], and the first work of a launch.
  function launchOf(lane, index) {
    let number = lane.launch ? lane.launch[index] : -1;
    if (number < 0) return null;
    for (const one of launches) {
      if (number < one.starts.length) return [one, number];
      number -= one.starts.length;
    }
    return null;
  }

  const firstWork = new Map();
  for (const lane of lanes) {
    for (let i = 0; lane.launch && i < lane.launch.length; i++) {
      const known = firstWork.get(lane.launch[i]);
      if (!known || lane.starts[i] < known[0].starts[known[1]]) firstWork.set(lane.launch[i], [lane, i]);
    }
  }

  function workOf(lane, index) {
    if (!lane.launches) return null;
    let number = index;
    for (const one of launches) {
      if (one === lane) return firstWork.get(number) || null;
      number += one.starts.length;
    }
    return null;
  }

  // Colours

  function mixed(colour, other, part) {
    const channel = (text, at) => parseInt(text.slice(at, at + 2), 16);
    const mix = [1, 3, 5].map((at) => Math.round(channel(colour, at) * (1 - part) + channel(other, at) * part));
    return "rgb(" + mix.join(",") + ")";
  }

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue("--" + name).trim();
    const away = read("on-mark") === "#ffffff" ? "#000000" : "#ffffff";
    const shades = VARIABLES.map((name) => [0, 0.16, 0.32].map((part) => mixed(read(name), away, part)));
    colours = { shades, sans: read("sans") };
    for (const name of ["ground", "raised", "text", "quiet", "rule", "focus", "on-mark", "compute"]) {
      colours[name] = read(name);
    }
  }

  // Places

  function arrange() {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(canvas.clientWidth, 200);
    const narrow = width < NARROW;
    // On whole device pixels, as the columns are.
    const gutter = narrow ? 0 : Math.round(gutterWidth() * ratio) / ratio;
    let y = OVERVIEW + AXIS;
    const rows = lanes.map((lane, i) => {
      if (i && lanes[i - 1].rank !== lane.rank) y += 9;
      const caption = narrow ? CAPTION : 0;
      const row = { lane, top: y + caption, height: LANE, captionAt: y };
      y += caption + LANE + GAP;
      return row;
    });
    const charts = series.map((one) => {
      const caption = narrow ? CAPTION : 6;
      const chart = { one, top: y + caption, height: CHART, captionAt: y };
      y += caption + CHART + GAP;
      return chart;
    });
    layout = { ratio, width, narrow, gutter, plot: width - gutter, rows, charts, height: y + 2 };
    canvas.style.height = layout.height + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(layout.height * ratio);
  }

  function gutterWidth() {
    const ctx = canvas.getContext("2d", { alpha: false });
    ctx.font = "12px " + colours.sans;
    const widths = [...lanes.map((lane) => lane.title), ...series.map((one) => one.title)]
      .map((title) => ctx.measureText(title).width);
    return Math.min(Math.max(...widths) + 76, 280);
  }

  const xOf = (t) => layout.gutter + ((t - view.start) / (view.end - view.start)) * layout.plot;
  const tOf = (x) => view.start + ((x - layout.gutter) / layout.plot) * (view.end - view.start);

  // Drawing

  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  function draw() {
    const ctx = canvas.getContext("2d", { alpha: false });
    ctx.setTransform(layout.ratio, 0, 0, layout.ratio, 0, 0);
    ctx.fillStyle = colours.ground;
    ctx.fillRect(0, 0, layout.width, layout.height);
    drawAxis(ctx);
    for (const row of layout.rows) drawLane(ctx, row);
    drawSteps(ctx);
    for (const chart of layout.charts) drawChart(ctx, chart);
    drawLink(ctx);
    drawOverview(ctx);
  }

  function drawOverview(ctx) {
    const whole = fit.end - fit.start;
    ctx.fillStyle = colours.raised;
    ctx.fillRect(layout.gutter, 0, layout.plot, OVERVIEW);
    if (allInView()) return;
    ctx.fillStyle = colours.quiet;
    const left = ((view.start - fit.start) / whole) * layout.plot;
    ctx.fillRect(layout.gutter + left, 0, Math.max(((view.end - view.start) / whole) * layout.plot, 3), OVERVIEW);
  }

  function drawAxis(ctx) {
    ctx.font = "11px " + colours.sans;
    ctx.textBaseline = "middle";
    ctx.textAlign = "center";
    for (const [at, words] of T.ticks(view.start, view.end, layout.plot / 90)) {
      const x = xOf(at);
      ctx.fillStyle = colours.rule;
      ctx.fillRect(x, OVERVIEW + AXIS - 4, 1, layout.height);
      ctx.fillStyle = colours.quiet;
      const half = ctx.measureText(words).width / 2;
      if (x - half > layout.gutter && x + half < layout.width) ctx.fillText(words, x, OVERVIEW + AXIS / 2 - 1);
    }
  }

  function caption(ctx, title, more, row) {
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.font = "12px " + colours.sans;
    const y = layout.narrow ? row.captionAt + CAPTION / 2 : row.top + row.height / 2;
    if (!layout.narrow) {
      ctx.fillStyle = colours.ground;
      ctx.fillRect(0, row.top - 2, layout.gutter, row.height + 4);
    }
    ctx.fillStyle = colours.text;
    ctx.fillText(title, layout.narrow ? 4 : 8, y);
    ctx.textAlign = "right";
    ctx.fillStyle = colours.quiet;
    ctx.fillText(more, layout.narrow ? layout.width - 4 : layout.gutter - 8, y);
  }

  function drawLane(ctx, row) {
    const { lane, top } = row;
    const columns = Math.round(layout.plot * layout.ratio);
    const kinds = packed.kinds.length;
    const found = T.decimate(lane, nameKinds, kinds, view.start, view.end, columns);
    const pixel = 1 / layout.ratio;
    ctx.fillStyle = colours.raised;
    ctx.fillRect(layout.gutter, top, layout.plot, LANE);
    for (const [i, left, right, overlaps] of found.boxes) {
      drawBox(ctx, lane, i, layout.gutter + left * pixel, layout.gutter + right * pixel, top, overlaps);
    }
    for (let kind = 0; kind < kinds; kind++) {
      ctx.fillStyle = colours.shades[kind][0];
      for (let c = 0; c < columns; c++) {
        const share = found.covered[kind * columns + c];
        const alone = found.present[c] === 1 + kind;
        if (!share && !alone) continue;
        let below = 0;
        for (let k = 0; k < kind; k++) below += found.covered[k * columns + c];
        const height = Math.min(Math.max(share, alone ? 0.1 : 0), 1) * LANE;
        ctx.fillRect(layout.gutter + c * pixel, top + LANE - Math.min(below, 0.9) * LANE - height, pixel, height);
      }
    }
    // The ends of the axis lie a little outside of what was recorded.
    const seen = Math.min(view.end, packed.length) - Math.max(view.start, 0);
    const busy = seen > 0 ? Math.min((found.busy * (view.end - view.start)) / seen, 1) : 0;
    caption(ctx, lane.title, T.percent(busy), row);
  }

  function drawBox(ctx, lane, i, left, right, top, overlaps) {
    const name = lane.names[i];
    const inset = overlaps ? LANE * 0.4 : 0;
    ctx.fillStyle = colours.shades[nameKinds[name]][name % 3];
    ctx.fillRect(left, top + inset, right - left, LANE - inset);
    if (right - left < 4) return;
    ctx.fillStyle = colours.ground;
    ctx.fillRect(left, top + inset, 1 / layout.ratio, LANE - inset);
    const from = Math.max(left, layout.gutter);
    const room = Math.floor((Math.min(right, layout.width) - from - 7) / 6);
    if (room < 3 || overlaps) return;
    const words = names[name].replace(/^void /, "");
    ctx.font = "11px " + colours.sans;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.fillStyle = colours["on-mark"];
    const text = words.length > room ? words.slice(0, room - 1) + "\u2026" : words;
    ctx.fillText(text, from + 4, top + LANE / 2 + 0.5, right - from - 6);
  }

  // A line down the lanes of its rank where each step begins, unless they would be a wall.
  function drawSteps(ctx) {
    for (const { lane, top } of layout.rows) {
      if (!lane.names.length || nameKinds[lane.names[0]] !== VARIABLES.indexOf("step")) continue;
      const same = layout.rows.filter((row) => row.lane.rank === lane.rank);
      const [from, to] = T.visible(lane, view.start, view.end);
      if (to - from > layout.plot / 40) continue;
      // Captions between the lanes stay clear of it.
      const spans = layout.narrow ? same.map((row) => [row.top, LANE]) : [[top, same[same.length - 1].top + LANE - top]];
      ctx.fillStyle = colours.quiet;
      for (let i = from; i < to; i++) {
        const x = xOf(lane.starts[i]);
        for (const [y, height] of x >= layout.gutter ? spans : []) ctx.fillRect(x, y, 1 / layout.ratio, height);
      }
    }
  }

  function drawChart(ctx, chart) {
    const { one, top, height } = chart;
    const high = one.values.reduce((a, b) => Math.max(a, b), -Infinity);
    const least = one.values.reduce((a, b) => Math.min(a, b), Infinity);
    // From zero, unless that would flatten the line, as it does a clock's; the ends are written beside it.
    const low = least > 0.8 * high ? least : Math.min(0, least);
    const yOf = (value) => top + height - ((value - low) / (high - low || 1)) * (height - 2);
    ctx.fillStyle = colours.raised;
    ctx.fillRect(layout.gutter, top, layout.plot, height);
    ctx.save();
    ctx.beginPath();
    ctx.rect(layout.gutter, top - 1, layout.plot, height + 2);
    ctx.clip();
    ctx.beginPath();
    const from = Math.max(T.first(one.at, view.start) - 1, 0);
    const to = Math.min(T.first(one.at, view.end) + 1, one.at.length);
    let column = -1, lowest = 0, highest = 0;
    // A gauge holds its value until the next sample; many samples of one pixel are the line from least to most.
    for (let i = from; i < to; i++) {
      const x = Math.round(xOf(one.at[i]) * layout.ratio) / layout.ratio;
      const y = yOf(one.values[i]);
      if (x === column) {
        lowest = Math.max(lowest, y);
        highest = Math.min(highest, y);
        ctx.lineTo(x, lowest);
        ctx.lineTo(x, highest);
      } else if (column >= 0) ctx.lineTo(x, yOf(one.values[i - 1]));
      ctx.lineTo(x, y);
      if (x !== column) { column = x; lowest = highest = y; }
    }
    if (to === one.at.length && to) ctx.lineTo(Math.max(xOf(one.at[to - 1]), layout.gutter + layout.plot), yOf(one.values[to - 1]));
    ctx.strokeStyle = colours.compute;
    ctx.lineWidth = 1.5;
    ctx.stroke();
    ctx.restore();
    caption(ctx, one.title, layout.narrow ? plain(low) + " to " + plain(high) : "", chart);
    if (layout.narrow) return;
    ctx.font = "11px " + colours.sans;
    ctx.fillText(plain(high), layout.gutter - 8, top + 6);
    ctx.fillText(plain(low), layout.gutter - 8, top + height - 5);
  }

  function plain(value) {
    return Number.isInteger(value) ? T.whole(value) : value.toPrecision(4);
  }

  // The event in hand, and a line from its launch to its work.
  function drawLink(ctx) {
    const at = hovered && hovered.index !== undefined ? hovered : chosen;
    if (!at) return;
    outline(ctx, at.lane, at.index);
    const launch = launchOf(at.lane, at.index);
    const work = workOf(at.lane, at.index);
    const [a, b] = launch ? [launch, [at.lane, at.index]] : work ? [[at.lane, at.index], work] : [];
    if (!a) return;
    const [from, to] = [rowOf(a[0]), rowOf(b[0])];
    outline(ctx, ...(launch || work));
    ctx.save();
    ctx.beginPath();
    ctx.rect(layout.gutter, 0, layout.plot, layout.height);
    ctx.clip();
    ctx.beginPath();
    ctx.moveTo(xOf(a[0].ends[a[1]]), from.top + LANE);
    ctx.lineTo(xOf(b[0].starts[b[1]]), to.top);
    ctx.strokeStyle = colours.focus;
    ctx.lineWidth = 1.5;
    ctx.stroke();
    ctx.restore();
  }

  const rowOf = (lane) => layout.rows[lanes.indexOf(lane)];

  function outline(ctx, lane, index) {
    const left = Math.max(xOf(lane.starts[index]), layout.gutter);
    const right = Math.min(xOf(lane.ends[index]), layout.width);
    if (right < layout.gutter || left > layout.width) return;
    ctx.strokeStyle = colours.text;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(left - 0.75, rowOf(lane).top - 0.75, Math.max(right - left, 1) + 1.5, LANE + 1.5);
  }

  // What lies under a point

  function under(x, y) {
    if (x < layout.gutter) return null;
    const row = layout.rows.find((one) => y >= one.captionAt - 2 && y < one.top + LANE + 3);
    if (row) {
      const reach = layout.narrow ? 3 : 1;
      const found = T.among(row.lane, tOf(x - reach), tOf(x + reach));
      return found.count ? { lane: row.lane, index: found.longest, count: found.count } : null;
    }
    const chart = layout.charts.find((one) => y >= one.top && y < one.top + one.height);
    if (!chart) return null;
    const i = T.first(chart.one.at, tOf(x)) - 1;
    return i < 0 ? null : { series: chart.one, sample: i };
  }

  function words(at) {
    if (at.series) {
      const { series: one, sample } = at;
      return [one.title, [plain(one.values[sample]) + " at " + moment(one.at[sample])]];
    }
    const { lane, index } = at;
    const lines = [
      packed.kinds[nameKinds[lane.names[index]]] + " on " + lane.title,
      "length " + moment(lane.ends[index] - lane.starts[index]) + ", start " + moment(lane.starts[index]),
    ];
    const launch = launchOf(lane, index);
    const work = workOf(lane, index);
    if (launch) {
      const [from, i] = launch;
      lines.push("launched by " + names[from.names[i]] + " (" + from.title + "), " + delay(from.ends[i], lane.starts[index]));
    } else if (lane.launch) lines.push("its launch is not in the trace");
    if (work) {
      const [to, i] = work;
      lines.push("launched " + names[to.names[i]] + " (" + to.title + "), " + delay(lane.ends[index], to.starts[i]));
    }
    if (at.count > 1) lines.push("the longest of " + T.whole(at.count) + " events at this place: zoom in for the others");
    return [names[lane.names[index]], lines];
  }

  function moment(ns) {
    return T.duration(ns) + (Math.abs(ns) >= 1000 ? " (" + T.whole(ns) + " ns)" : "");
  }

  // Clipped at 0, as the launch delay of the metrics is: work may start before the call returns.
  function delay(returned, started) {
    return "launch to start " + T.duration(Math.max(started - returned, 0));
  }

  function hover(x, y) {
    hovered = under(x, y);
    tip.hidden = !hovered;
    if (hovered) {
      const [title, lines] = words(hovered);
      const head = document.createElement("b");
      head.textContent = title.length > 160 ? title.slice(0, 159) + "\u2026" : title;
      tip.replaceChildren(head, ...lines.map((line) => {
        const span = document.createElement("span");
        span.textContent = line;
        return span;
      }));
      const { width, height } = tip.getBoundingClientRect();
      const left = x + 14 + width < layout.width ? x + 14 : Math.max(x - 14 - width, 2);
      const top = y + 16 + height < layout.height ? y + 16 : Math.max(y - 12 - height, 2);
      tip.style.transform = "translate(" + left + "px," + top + "px)";
    }
    redraw();
  }

  function choose(at) {
    chosen = at && at.index !== undefined ? at : null;
    if (!at) return;
    const [title, lines] = words(at);
    picked.textContent = title + ": " + lines.join("; ") + ".";
  }

  // Moving

  function look(start, end) {
    const whole = fit.end - fit.start;
    const size = Math.min(Math.max(end - start, Math.min(LEAST_NS, whole)), whole);
    const from = Math.min(Math.max(start + (end - start - size) / 2, fit.start), fit.end - size);
    view = { start: from, end: from + size };
    redraw();
  }

  function zoom(factor, x) {
    const at = tOf(x);
    look(at - (at - view.start) * factor, at + (view.end - at) * factor);
  }

  const allInView = () => view.end - view.start >= (fit.end - fit.start) * 0.9999;
  const middle = () => layout.gutter + layout.plot / 2;
  const pan = (share) => look(view.start + share * (view.end - view.start), view.end + share * (view.end - view.start));

  // To the event before or after the one in hand on its lane.
  function step(by) {
    const lane = chosen ? chosen.lane : lanes.find((one) => one.launch) || lanes[0];
    if (!lane) return;
    const index = chosen ? chosen.index + by : T.visible(lane, view.start, view.end)[0];
    if (index < 0 || index >= lane.starts.length) return;
    choose({ lane, index, count: 1 });
    const size = view.end - view.start;
    if (lane.ends[index] < view.start || lane.starts[index] > view.end) look(lane.starts[index] - size / 2, lane.starts[index] + size / 2);
    redraw();
  }

  canvas.addEventListener("wheel", (event) => {
    const across = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan((across / layout.plot) * (event.deltaMode ? 20 : 1));
    } else {
      // All is in view: the wheel scrolls the page on.
      if (event.deltaY > 0 && allInView()) return;
      event.preventDefault();
      const lines = event.deltaMode ? event.deltaY * 33 : event.deltaY;
      zoom(Math.exp(Math.max(Math.min(lines, 240), -240) * 0.0022), event.offsetX);
    }
    hover(event.offsetX, event.offsetY);
  }, { passive: false });

  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.offsetX);
    if (pointers.size === 1) moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) {
      if (event.pointerType === "mouse") hover(event.offsetX, event.offsetY);
      return;
    }
    const old = [...pointers.values()];
    pointers.set(event.pointerId, event.offsetX);
    moved += Math.abs(event.offsetX - before);
    if (moved > 4) tip.hidden = true;
    if (old.length === 1) {
      pan((before - event.offsetX) / layout.plot);
      return;
    }
    const now = [...pointers.values()];
    const [a, b] = [tOf(old[0]), tOf(old[1])];
    const apart = now[1] - now[0];
    if (Math.abs(apart) < 12) return;
    const perPixel = Math.abs((b - a) / apart);
    const centre = (a + b) / 2 - ((now[0] + now[1]) / 2 - layout.gutter) * perPixel;
    look(centre, centre + perPixel * layout.plot);
  });
  canvas.addEventListener("pointerup", (event) => {
    const tapped = pointers.size === 1 && moved <= 4;
    pointers.delete(event.pointerId);
    if (!tapped) return;
    if (event.pointerType !== "mouse") hover(event.offsetX, event.offsetY);
    choose(under(event.offsetX, event.offsetY));
    redraw();
  });
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", (event) => {
    // A finger that is lifted leaves too; what it has tapped stays told.
    if (event.pointerType !== "mouse") return;
    hovered = null;
    tip.hidden = true;
    redraw();
  });
  canvas.addEventListener("dblclick", () => look(fit.start, fit.end));

  const keys = {
    ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), ArrowUp: () => zoom(0.7, middle()),
    ArrowDown: () => zoom(1 / 0.7, middle()), "+": () => zoom(0.7, middle()), "=": () => zoom(0.7, middle()),
    "-": () => zoom(1 / 0.7, middle()), 0: () => look(fit.start, fit.end), n: () => step(1), p: () => step(-1),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });

  document.getElementById("timeline-in").addEventListener("click", () => zoom(0.5, middle()));
  document.getElementById("timeline-out").addEventListener("click", () => zoom(2, middle()));
  document.getElementById("timeline-fit").addEventListener("click", () => look(fit.start, fit.end));

  function legend() {
    const used = new Set(nameKinds);
    const items = packed.kinds.map((words, kind) => {
      const item = document.createElement("li");
      const swatch = document.createElement("span");
      swatch.className = "swatch";
      // A border, for paper leaves backgrounds out.
      swatch.style.border = "5px solid " + colours.shades[kind][0];
      item.append(swatch, words);
      return item;
    });
    document.getElementById("timeline-legend").replaceChildren(...items.filter((_, kind) => used.has(kind)));
  }

  function restart() {
    readColours();
    arrange();
    legend();
    draw();
  }

  document.documentElement.classList.add("drawn");
  restart();
  new ResizeObserver(() => {
    if (canvas.clientWidth !== layout.width) restart();
  }).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restart);
  // Paper is white: drawn again in the colours for it.
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
    window.addEventListener(event, () => {
      document.documentElement.classList.toggle("printing", printing);
      restart();
    });
  }
})();
