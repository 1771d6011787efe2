//<![CDATA[
// What a page can do beyond being read: sort and filter tables, tell the numbers under a pointer, choose the colours.
"use strict";
(() => {
const make = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
};

// The numbers of a figure or table are in its CSV link, all of them.
const records = new WeakMap();
function numbers(link) {
  if (!link) return [];
  if (records.has(link)) return records.get(link);
  const text = decodeURIComponent(link.getAttribute("href").replace(/^[^,]*,/, ""));
  const rows = [[]];
  const pattern = /(?:"((?:[^"]|"")*)"|([^,\n]*))(,|\n|$)/g;
  for (let match; pattern.lastIndex < text.length && (match = pattern.exec(text));) {
    rows[rows.length - 1].push(match[1] === undefined ? match[2] : match[1].replace(/""/g, '"'));
    if (match[3] === "\n") rows.push([]);
  }
  rows.pop();
  records.set(link, rows);
  return rows;
}
const value = text => parseFloat(text.replace(/\u2212/g, "-").replace(/^[^\d.-]+/, ""));

// Tables.
function table(box) {
  const own = box.querySelector("table"), body = own.tBodies[0], heads = [...own.tHead.rows[0].cells];
  const holder = box.closest("details, .card"), link = holder.querySelector("a.csv");
  let rows = [...body.rows], thinned = box.hasAttribute("data-thinned");
  const state = make("span", "unseen");
  state.setAttribute("aria-live", "polite");

  // Some rows are missing on the page; whoever sorts or looks for something means all of them.
  function whole() {
    if (!thinned) return;
    thinned = false;
    rows = numbers(link).slice(1).map(cells => {
      const row = make("tr");
      cells.forEach((text, index) => {
        const cell = make(index ? "td" : "th", heads[index].className, text);
        if (!index) cell.scope = "row";
        row.append(cell);
      });
      return row;
    });
    body.replaceChildren(...rows);
    const note = holder.querySelector(".thinned");
    if (note) note.remove();
  }

  function sort(head, index) {
    whole();
    const next = { none: "ascending", ascending: "descending", descending: "none" };
    const order = next[head.getAttribute("aria-sort") || "none"];
    heads.forEach(other => other.removeAttribute("aria-sort"));
    if (order !== "none") head.setAttribute("aria-sort", order);
    const sign = order === "descending" ? -1 : 1;
    const numeric = head.classList.contains("number");
    const key = row => row.cells[index].textContent;
    const compare = (a, b) => {
      const [one, other] = [key(a), key(b)];
      // What has no value stands last, whichever way it is sorted.
      if (!one || !other) return (one ? 0 : 1) - (other ? 0 : 1);
      return sign * (numeric ? value(one) - value(other) : one.localeCompare(other, undefined, { numeric: true }));
    };
    body.append(...(order === "none" ? rows : [...rows].sort(compare)));
    state.textContent = order === "none" ? "in the first order" : order + " by " + head.textContent;
  }

  heads.forEach((head, index) => {
    const button = make("button", "", head.textContent);
    button.type = "button";
    button.addEventListener("click", () => sort(head, index));
    head.replaceChildren(button);
  });
  const before = [state];
  if (rows.length > 12) {
    const label = make("label", "filter", "Filter "), input = make("input"), count = make("span", "note");
    input.type = "search";
    count.setAttribute("aria-live", "polite");
    input.addEventListener("input", () => {
      whole();
      const wanted = input.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = wanted ? " " + shown + " of " + rows.length + " rows" : "";
    });
    label.append(input);
    const line = make("div", "filters");
    line.append(label, count);
    before.push(line);
  }
  box.before(...before);
}
document.querySelectorAll(".scroll").forEach(table);

// Figures: the place under the pointer, or the one chosen with the arrow keys, is told under the drawing.
const line = (x, from, to) => "M" + x + " " + from + "V" + to;
const box = (x, y, w, h) => "M" + x + " " + y + "h" + w + "v" + h + "h" + -w + "z";
const nearest = (list, distance) => {
  let best = -1, least = Infinity;
  list.forEach((entry, index) => {
    const far = distance(entry);
    if (far < least) [best, least] = [index, far];
  });
  return best;
};
const told = (head, row, from) => head.slice(from)
  .map((name, index) => [name, row[index + from]])
  .filter(pair => pair[1])
  .map(pair => pair[0] + " " + pair[1]).join(" · ");

// Each kind of figure: how many places there are, which is nearest to a point, what is told of one and what marks it.
const kinds = {
  lines(svg, rows, [left, right, from, to, top, bottom]) {
    const [head, ...body] = rows;
    const at = row => left + (value(row[0]) - from) / (to - from) * (right - left);
    return {
      count: body.length,
      near: x => nearest(body, row => Math.abs(at(row) - x)),
      tell: index => head[0] + " " + body[index][0] + ": " + told(head, body[index], 1),
      mark: index => line(at(body[index]), top, bottom),
    };
  },
  rows(svg, rows, [left, right, top, height, count]) {
    const [head, ...body] = rows;
    return {
      count,
      near: (x, y) => Math.min(count - 1, Math.max(0, Math.floor((y - top) / height))),
      tell: index => body[index][0] + ": " + told(head, body[index], 1),
      mark: index => box(left, top + index * height, right - left, height),
    };
  },
  cells(svg, rows, [left, top, width, height, down, across, long]) {
    const limit = (place, most) => Math.min(most - 1, Math.max(0, Math.floor(place)));
    return {
      count: down * across,
      across,
      near: (x, y) => limit((y - top) / height, down) * across + limit((x - left) / width, across),
      tell: index => {
        const row = Math.floor(index / across), column = index % across;
        if (long) return told(rows[0], rows[index + 1], 0);
        return rows[row + 1][0] + ", " + rows[0][column + 1] + ": " + (rows[row + 1][column + 1] || "no value");
      },
      mark: index => box(left + index % across * width, top + Math.floor(index / across) * height, width, height),
    };
  },
  points(svg, rows, [left, right, from, to, bottom, top, low, high]) {
    const [head, ...body] = rows;
    const places = body.map(row => [
      left + (value(row[1]) - from) / (to - from) * (right - left),
      bottom + (value(row[2]) - low) / (high - low) * (top - bottom),
    ]);
    return {
      count: body.length,
      near: (x, y) => nearest(places, place => Math.hypot(place[0] - x, place[1] - y)),
      tell: index => told(head, body[index], 0),
      mark: index => box(places[index][0] - 5, places[index][1] - 5, 10, 10),
    };
  },
  // Shapes that carry their own words, such as electrodes.
  words(svg) {
    const shapes = [...svg.querySelectorAll("g")].filter(shape => shape.querySelector(":scope > title"));
    const place = index => {
      const own = (shapes[index].querySelector(".electrode") || shapes[index]).getBBox();
      return [own.x + own.width / 2, own.y + own.height / 2];
    };
    let places;
    return {
      count: shapes.length,
      near: (x, y) => nearest(places = places || shapes.map((_, index) => place(index)),
        own => Math.hypot(own[0] - x, own[1] - y)),
      tell: index => shapes[index].querySelector("title").textContent,
      mark: index => box(place(index)[0] - 6, place(index)[1] - 6, 12, 12),
    };
  },
};

function figure(svg) {
  const holder = svg.closest("figure");
  let kind, chosen = -1;
  const say = make("p", "readout");
  svg.after(say);
  svg.setAttribute("tabindex", "0");
  const cursor = document.createElementNS(svg.namespaceURI, "path");
  cursor.setAttribute("class", "cursor");
  svg.append(cursor);
  const ready = () => {
    if (!kind) {
      const name = svg.dataset.reads || "words";
      const places = (svg.dataset.places || "").split(" ").map(Number);
      kind = kinds[name](svg, name === "words" ? [] : numbers(holder.querySelector("a.csv")), places);
    }
    return kind.count > 0;
  };
  const choose = (index, aloud) => {
    if (index === chosen || index < 0 || index >= kind.count) return;
    chosen = index;
    say.setAttribute("aria-live", aloud ? "polite" : "off");
    say.textContent = kind.tell(index);
    cursor.setAttribute("d", kind.mark(index));
    // Beside the mark, on the side with more room.
    const mark = cursor.getBoundingClientRect(), own = holder.getBoundingClientRect();
    const [left, right] = [mark.left - own.left, own.right - mark.right];
    const wide = mark.width > own.width / 2;
    say.style.left = !wide && right >= left ? own.width - right + 8 + "px" : "auto";
    say.style.right = wide ? "1rem" : right >= left ? "auto" : own.width - left + 8 + "px";
    say.style.top = (wide ? mark.bottom + 4 : Math.max(mark.top, own.top)) - own.top + "px";
  };
  const quiet = () => {
    chosen = -1;
    say.textContent = "";
    cursor.removeAttribute("d");
  };
  svg.addEventListener("pointermove", event => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (ready()) choose(kind.near(point.x, point.y), false);
  });
  svg.addEventListener("pointerleave", quiet);
  svg.addEventListener("blur", quiet);
  svg.addEventListener("keydown", event => {
    if (event.key === "Escape") quiet();
    const down = ready() ? kind.across || 1 : 0;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: down, ArrowUp: -down }[event.key];
    if (!step || !down) return;
    event.preventDefault();
    choose(chosen === -1 ? 0 : chosen + step, true);
  });
}
const figures = document.querySelectorAll("figure .figure");
figures.forEach(figure);
if (figures.length) {
  const hint = "Point at a figure, or choose one with the tab key and use the arrow keys, to read its values.";
  document.querySelector("header").append(make("p", "note hint", hint));
}

// Colours.
const bar = make("div", "colours");
bar.setAttribute("role", "group");
bar.setAttribute("aria-label", "Colours");
const buttons = ["system", "light", "dark"].map(name => {
  const button = make("button", "", name);
  button.type = "button";
  button.setAttribute("aria-pressed", String(name === "system"));
  button.addEventListener("click", () => {
    document.documentElement.dataset.colours = name;
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
  });
  return button;
});
bar.append(...buttons);
document.querySelector("header").prepend(bar);

// Paper has nothing to click on.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});
})();
//]]>
