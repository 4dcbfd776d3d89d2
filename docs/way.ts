/** The picture of a callback's way through the receiver, which `npm run docs:tables` writes to `docs/way.svg`. */

/** From the project's root. */
export const WAY_FILE = 'docs/way.svg'

interface Stage {
  readonly title: string
  readonly does: string
  /** What happens instead, each a line of a list below the stage. */
  readonly otherwise: readonly string[]
}

const STAGES: readonly Stage[] = [
  {
    title: 'POST',
    does: 'reads the exact body',
    otherwise: ['broken, slow, too large:', '400, 408, 413'],
  },
  {
    title: 'Verify',
    does: 'signature or authKey',
    otherwise: ['no valid proof:', '401, kept in quarantine', 'until your keys prove it'],
  },
  {
    title: 'Store',
    does: 'dedupes, puts in order',
    otherwise: ['known: 204, runs nothing', 'store unavailable:', 'spool on disk, 204', 'no disk either: 503'],
  },
  {
    title: '204',
    does: 'the event is durable',
    otherwise: [],
  },
  {
    title: 'Handler',
    does: 'runs your code',
    otherwise: ['throws: runs again,', 'up to 15 attempts; then', 'dead letter, to replay'],
  },
]

const WIDTH = 880
const HEIGHT = 192
const MARGIN = 16
const GAP = 26
const BOX = { top: 44, width: (WIDTH - 2 * MARGIN - GAP * (STAGES.length - 1)) / STAGES.length, height: 54 }
const LINE = 17

/** Draws its own background, so that it is legible on light and dark pages, whatever they tell a picture about their colours. */
const STYLE = `
  .page { fill: #f6f8fa; stroke: #d0d7de }
  .stage { fill: #0969da }
  .title { fill: #fff; font-size: 16px; font-weight: 600 }
  .does { fill: #fff; font-size: 12px }
  .head { fill: #57606a; font-size: 12px }
  .otherwise { fill: #24292f; font-size: 12px }
  .way { stroke: #57606a; stroke-width: 1.5; fill: none; marker-end: url(#tip) }
  .aside { stroke: #9a6700; stroke-width: 1.5; stroke-dasharray: 3 3; fill: none }
  @media (prefers-color-scheme: dark) {
    .page { fill: #161b22; stroke: #30363d }
    .stage { fill: #1f6feb }
    .head, .tip { fill: #8b949e }
    .otherwise { fill: #e6edf3 }
    .way { stroke: #8b949e }
    .aside { stroke: #d29922 }
  }`

/** @returns The picture, as the text of an SVG document. */
export function wayText(): string {
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, sans-serif" role="img">`,
    `<title>The way of a callback: ${STAGES.map(({ title }) => title).join(', ')}</title>`,
    `<style>${STYLE}\n</style>`,
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>',
    `<rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="8"/>`,
    `<text class="head" x="${MARGIN}" y="26">A callback, from the service to your handler. Below each step: what happens otherwise.</text>`,
    ...STAGES.map(stageText),
    '</svg>',
  ].join('\n')}\n`
}

function stageText({ title, does, otherwise }: Stage, index: number): string {
  const x = MARGIN + index * (BOX.width + GAP)
  const centre = x + BOX.width / 2
  const bottom = BOX.top + BOX.height
  const lines = otherwise.map((line, at) => text('otherwise', x + 10, bottom + 26 + at * LINE, line))
  return [
    ...(index === 0 ? [] : [`<path class="way" d="M${x - GAP + 2} ${BOX.top + BOX.height / 2}H${x - 2}"/>`]),
    `<rect class="stage" x="${x}" y="${BOX.top}" width="${BOX.width}" height="${BOX.height}" rx="6"/>`,
    text('title', centre, BOX.top + 24, title, 'middle'),
    text('does', centre, BOX.top + 42, does, 'middle'),
    ...(lines.length === 0
      ? []
      : [`<path class="aside" d="M${x + 2} ${bottom + 4}V${bottom + 16 + lines.length * LINE}"/>`]),
    ...lines,
  ].join('\n')
}

function text(kind: string, x: number, y: number, content: string, anchor = 'start'): string {
  return `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}">${content}</text>`
}
