/** Times, durations, sizes and counts as people read them: times in the reader's own zone, and exactly in UTC on hover. */
import { now } from './clock.ts'
import { h, type Tree } from './elements.ts'

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function two(number: number): string {
  return String(number).padStart(2, '0')
}

/** Of today only the time; else with the day, and with the year where it is another. */
export function localTime(at: Date, withSeconds = true): string {
  const today = new Date(now())
  const time = `${two(at.getHours())}:${two(at.getMinutes())}${withSeconds ? `:${two(at.getSeconds())}` : ''}`
  if (at.toDateString() === today.toDateString()) return time
  const year = at.getFullYear() === today.getFullYear() ? '' : ` ${at.getFullYear()}`
  return `${at.getDate()} ${MONTHS[at.getMonth()] ?? ''}${year} ${time}`
}

/** What is no time is shown as it is. */
export function time(iso: string | undefined): Tree | string {
  if (iso === undefined) return '–'
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return iso
  const utc = at.toISOString()
  return h('time', { datetime: utc, title: `${utc.replace('T', ' ').replace('Z', '')} UTC` }, localTime(at))
}

/** In the two greatest units that it has. */
export function duration(durationMs: number): string {
  const sign = durationMs < 0 ? '−' : ''
  const ms = Math.abs(durationMs)
  if (ms < 1_000) return `${sign}${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(1) : Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < 60) return `${sign}${seconds < 10 ? trimmed(seconds.toFixed(1)) : Math.round(seconds)} s`
  const whole = Math.round(seconds)
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ] as const
  const first = units.findIndex(([size]) => whole >= size)
  let rest = whole
  const parts = units.slice(first, first + 2).map(([size, unit]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? '' : `${count} ${unit}`
  })
  return sign + parts.filter((part) => part !== '').join(' ')
}

function trimmed(text: string): string {
  return text.replace(/\.0$/, '')
}

const grouped = new Intl.NumberFormat('en')

export function count(number: number): string {
  return grouped.format(number)
}

export function bytes(number: number): string {
  if (number < 1_024) return `${number} B`
  const kib = number / 1_024
  return kib < 1_024 ? `${trimmed(kib.toFixed(1))} KiB` : `${trimmed((kib / 1_024).toFixed(1))} MiB`
}

/** `1 event`, `2 events`. */
export function several(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`
}

/** No more of it than the page can lay out at once; the server cuts long before. */
const LONGEST = 20_000

export function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}\n… cut after ${count(LONGEST)} characters` : text
}
