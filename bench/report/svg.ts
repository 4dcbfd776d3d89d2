/** A bar chart as plain SVG, readable on a light page and on a dark one. */
import type { Chart } from './report.ts'

const WIDTH = 760
const LABEL_WIDTH = 330
const ROW = 24
const TOP = 40
const VALUE_WIDTH = 50

export function svgOf({ title, bars }: Chart): string {
  const most = Math.max(...bars.map(({ value }) => value), 1)
  const height = TOP + bars.length * ROW + 10
  const scale = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / most
  const one = LABEL_WIDTH + scale
  const rows = bars.map(({ label, value, ours }, index) => {
    const y = TOP + index * ROW
    return (
      `<text x="${LABEL_WIDTH - 8}" y="${y + 15}" text-anchor="end">${escapeText(label)}</text>` +
      `<rect x="${LABEL_WIDTH}" y="${y + 3}" width="${(value * scale).toFixed(1)}" height="${ROW - 8}" ` +
      `fill="${ours ? '#2f81f7' : '#8b949e'}"/>` +
      `<text x="${(LABEL_WIDTH + value * scale + 6).toFixed(1)}" y="${y + 15}">${value.toFixed(2)}</text>`
    )
  })
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" ` +
      'font-family="sans-serif" font-size="13" fill="#6e7681" role="img">',
    `<title>${escapeText(title)}</title>`,
    `<text x="8" y="22" font-size="14" font-weight="bold">${escapeText(title)}</text>`,
    `<line x1="${one.toFixed(1)}" x2="${one.toFixed(1)}" y1="${TOP - 4}" y2="${height - 8}" stroke="#d29922"/>`,
    ...rows,
    '</svg>',
  ].join('\n')}\n`
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
