// What a reader does with a page, and what has to come of it.

// Runs everything on a page that is open, with its script.
export async function holds(page, told) {
  const must = (right, text) => right || told(text);
  await sorts(page, must);
  await filters(page, must);
  await readsOut(page, must);
  await switches(page, must);
  await prints(page, must);
  await refuses(page, must);
}

const number = text => parseFloat(text.replace("\u2212", "-"));

async function sorts(page, must) {
  for (const box of await page.$$(".scroll")) {
    const name = await box.getAttribute("aria-label");
    const head = await box.$("th.number");
    if (!head) continue;
    const column = await head.evaluate(head => head.cellIndex);
    const values = async () => {
      const texts = await box.$$eval("tbody tr", (rows, column) => rows.map(row => row.cells[column].textContent), column);
      // A dash or `< 0.0001` is at one of the ends.
      return texts.map(number).filter(Number.isFinite);
    };
    const rising = (list, sign) => list.every((value, index) => !index || sign * (value - list[index - 1]) >= 0);
    const button = await head.$("button");
    const before = await values();
    if (!button) {
      must(before.length < 2, `${name}: cannot be sorted`);
      continue;
    }
    await button.focus();
    await page.keyboard.press("Enter");
    must(await head.getAttribute("aria-sort") === "ascending", `${name}: no aria-sort`);
    const sorted = await values();
    must(rising(sorted, 1), `${name}: not sorted`);
    must(sorted.length >= before.length, `${name}: sorting lost rows`);
    await button.evaluate(button => button.click());
    must(await head.getAttribute("aria-sort") === "descending" && rising(await values(), -1), `${name}: not sorted down`);
    await button.evaluate(button => button.click());
    must(!await head.getAttribute("aria-sort"), `${name}: stays sorted`);
  }
}

async function filters(page, must) {
  for (const input of await page.$$(".filter input")) {
    const box = await input.evaluateHandle(input => input.closest(".filters").nextElementSibling);
    const shown = () => box.$$eval("tbody tr", rows => rows.filter(row => row.offsetParent).length);
    const all = await shown();
    await input.fill("no such thing");
    must(await shown() === 0, "a filter that nothing passes shows rows");
    await input.fill("");
    must(await shown() >= all, "an empty filter hides rows");
  }
}

async function readsOut(page, must) {
  for (const figure of await page.$$("figure")) {
    const svg = await figure.$("svg");
    const name = await svg.$eval("title", title => title.textContent);
    const told = () => figure.$eval(".readout", readout => readout.textContent);
    await svg.scrollIntoViewIfNeeded();
    await svg.hover({ position: await svg.boundingBox().then(box => ({ x: box.width / 2, y: box.height / 2 })) });
    const first = await told();
    must(first && !/undefined|NaN/.test(first), `${name}: pointing at it tells "${first}"`);
    await page.mouse.move(0, 0);
    await svg.focus();
    await page.keyboard.press("ArrowRight");
    const key = await told();
    must(key && !/undefined|NaN/.test(key), `${name}: the arrow keys tell "${key}"`);
    await page.keyboard.press("Escape");
    must(await told() === "", `${name}: Escape leaves its numbers`);
  }
}

async function switches(page, must) {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const at = [];
  for (const name of ["light", "dark", "system"]) {
    await page.click(`.colours button:text-is("${name}")`);
    at.push(await ground());
  }
  must(at[0] !== at[1], "light and dark look alike");
  must(at[2] === at[0] || at[2] === at[1], "the system's colours are neither light nor dark");
}

async function prints(page, must) {
  await page.evaluate(() => document.querySelectorAll("details").forEach(details => { details.open = false; }));
  await page.emulateMedia({ media: "print" });
  const look = () => page.evaluate(() => ({
    tables: [...document.querySelectorAll("table")].every(table => table.checkVisibility({ contentVisibilityAuto: true }) && table.offsetHeight > 0),
    buttons: [...document.querySelectorAll(".colours, .filters, .csv, nav")].filter(part => part.offsetParent).length,
    ground: getComputedStyle(document.documentElement).getPropertyValue("--card").trim(),
  }));
  // What is folded opens when the browser comes to it.
  let seen = await look();
  for (let tries = 0; tries < 100 && !(seen.tables && seen.buttons === 0); tries++) {
    await page.waitForTimeout(100);
    seen = await look();
  }
  must(seen.tables, "paper lacks a table");
  must(seen.buttons === 0, "paper shows what can only be clicked");
  must(seen.ground === "#ffffff", `paper is ${seen.ground}`);
  await page.emulateMedia({ media: null });
}

// No other script may run, wherever it comes from.
async function refuses(page, must) {
  const rules = await page.$eval("meta[http-equiv=Content-Security-Policy]", meta => meta.content);
  const own = rules.split(";").map(rule => rule.trim()).find(rule => rule.startsWith("script-src"));
  must(/^script-src 'sha256-[^']+'$/.test(own) && rules.startsWith("default-src 'none'"), `the page allows more: ${rules}`);
}
