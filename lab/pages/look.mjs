// Looks at pages in a real browser: `node look.mjs BROWSER FONTS write|compare PAGE[=PICTURES[=SECTION,...]]...`
//
// Every page: no complaint on the console, no request beyond the page, no serious finding of axe-core, with script and without; tables
// sort and filter, figures read out, colours switch, paper shows everything. Where a folder of committed pictures is named: every section, or those
// named, light and dark, on a desk and on a phone, side by side in one picture.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { holds } from "./acts.mjs";
import { compare, joined } from "./pictures.mjs";

const [browserPath, fonts, mode, ...named] = process.argv.slice(2);
const pages = named.map(text => {
  const [file, pictures, sections] = text.split("=");
  return { file, pictures, sections: sections?.split(",") };
});
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = [
  { name: "desk, light", width: 1280, colorScheme: "light" },
  { name: "desk, dark", width: 1280, colorScheme: "dark" },
  { name: "phone, light", width: 390, colorScheme: "light" },
  { name: "phone, dark", width: 390, colorScheme: "dark" },
];
const failures = [];

// How long a step takes, for whoever wonders.
let since = Date.now();
function took(what) {
  console.log(`${what}: ${((Date.now() - since) / 1000).toFixed(1)} s`);
  since = Date.now();
}

// The same letters on every machine: those of the fonts beside the figures.
const letters = ["Regular 400", "SemiBold 600"].map(name => {
  const [file, weight] = name.split(" ");
  return { weight, bytes: [...readFileSync(join(fonts, `Inter-${file}.ttf`))] };
});
async function useLetters(page) {
  await page.evaluate(async letters => {
    for (const { weight, bytes } of letters) {
      const face = new FontFace("Held", new Uint8Array(bytes).buffer, { weight });
      document.fonts.add(await face.load());
    }
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("*{font-family:Held!important;transition:none!important}");
    document.adoptedStyleSheets = [sheet];
    await document.fonts.ready;
  }, letters);
}

async function opened(browser, file, view, options = {}) {
  const context = await browser.newContext({
    viewport: { width: view.width, height: 900 },
    colorScheme: view.colorScheme,
    deviceScaleFactor: view.scale || 1,
    ...options,
  });
  const page = await context.newPage();
  const told = text => failures.push(`${basename(file)}, ${view.name}: ${text}`);
  page.on("console", message => ["error", "warning"].includes(message.type()) && told(`console: ${message.text()}`));
  page.on("pageerror", error => told(`script: ${error}`));
  const address = pathToFileURL(file).href;
  page.on("request", request => {
    if (!request.url().startsWith(address)) told(`asked for ${request.url().slice(0, 80)}`);
  });
  await page.goto(address);
  return { page, context, told };
}

async function accessible(page, told) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const found of violations.filter(found => ["serious", "critical"].includes(found.impact))) {
    told(`${found.id} (${found.impact}): ${found.help}; ${found.nodes.length} times, first ${found.nodes[0].html.slice(0, 160)}`);
  }
}

// axe-core waits for timers, which stand still where a browser runs no script. It sees the page as such a browser shows it in a copy without
// the script.
function withoutScript(file) {
  const copy = join("seen", `without-script-${basename(file)}`);
  mkdirSync("seen", { recursive: true });
  writeFileSync(copy, readFileSync(file, "utf8").replace(/<script>[^]*<\/script>/, ""));
  return copy;
}

async function looked(browser, file) {
  const copy = withoutScript(file);
  for (const [index, view] of VIEWS.entries()) {
    for (const own of [file, copy]) {
      const { page, context, told } = await opened(browser, own, view);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) told(`the page is ${wide} pixels wider than the screen`);
      // Everything is looked at, also what is folded away.
      await page.evaluate(() => document.querySelectorAll("details").forEach(details => { details.open = true; }));
      // Without script the colours are the same; two views are enough.
      if (own === file || index === 0 || index === 3) await accessible(page, told);
      if (own === file && (index === 0 || index === 3)) await holds(page, told);
      await context.close();
    }
  }
  const { page, context, told } = await opened(browser, file, VIEWS[0], { javaScriptEnabled: false });
  const sections = await page.$$eval("main > section", sections => sections.filter(section => section.offsetHeight).length);
  if (!sections) told("without script there is nothing to read");
  await context.close();
}

async function pictured(browser, { file, pictures, sections }) {
  const shots = new Map();
  for (const view of VIEWS) {
    const { page, context } = await opened(browser, file, { ...view, scale: 0.5 });
    await useLetters(page);
    const parts = [["head", await page.$("header")]];
    for (const section of await page.$$("main > section")) {
      const heading = await section.$eval("h2", heading => heading.textContent);
      parts.push([heading.toLowerCase().match(/[a-z0-9]+/g).join("-"), section]);
    }
    for (const [name, part] of parts.filter(([name]) => !sections || sections.includes(name))) {
      // Alone, or a section that grows would move all after it by parts of a pixel.
      for (const [, other] of parts) await other.evaluate((other, shown) => { other.style.display = shown ? "" : "none"; }, other === part);
      shots.set(name, [...(shots.get(name) || []), await part.screenshot()]);
    }
    await context.close();
  }
  for (const name of (sections || []).filter(name => !shots.has(name))) failures.push(`${basename(file)} has no section ${name}`);
  const made = new Map([...shots].map(([name, own]) => [`${name}.png`, joined(own)]));
  if (mode === "write") {
    rmSync(pictures, { recursive: true, force: true });
    mkdirSync(pictures, { recursive: true });
    for (const [name, picture] of made) writeFileSync(join(pictures, name), picture);
    return;
  }
  const stored = existsSync(pictures) ? readdirSync(pictures).filter(name => name.endsWith(".png")) : [];
  for (const name of stored.filter(name => !made.has(name))) failures.push(`${join(pictures, name)} is of no section`);
  mkdirSync("seen", { recursive: true });
  for (const [name, picture] of made) {
    if (!stored.includes(name)) {
      failures.push(`${join(pictures, name)} is missing`);
      continue;
    }
    const found = compare(readFileSync(join(pictures, name)), picture);
    if (!found) continue;
    const seen = `${basename(file, ".html")}-${name}`;
    writeFileSync(join("seen", seen), picture);
    if (found.difference) writeFileSync(join("seen", `difference-${seen}`), found.difference);
    failures.push(`${join(pictures, name)}: ${found.text}; see seen/${seen} beside the browser's packages`);
  }
}

const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--font-render-hinting=none"] });
console.log(`Chromium ${browser.version()}`);
for (const page of pages.filter(page => page.pictures)) {
  await pictured(browser, page);
  took(`pictures of ${basename(page.file)}`);
}
for (const { file } of pages) {
  await looked(browser, file);
  took(`looking at ${basename(file)}`);
}
await browser.close();
for (const failure of failures) console.log(failure);
console.log(`${pages.length} pages, ${failures.length} complaints`);
process.exit(failures.length ? 1 : 0);
