/**
 * Cost of an AWS Lambda function before its first callback: the CPU time of a fresh process that loads it and makes its
 * receiver, compared with one that loads an empty file. Measured as one bundled file and as an installed package. `npm run bench:cold`
 *
 *     ROUNDS (15) processes of each kind, alternating
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleFunction, sourceOfFunction } from './function/bundle.ts'
import { ratioOf, spreadOf, type Spread } from './measure/ratios.ts'
import { textOf } from './report/report.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 15)

/** CPU time in milliseconds, including the start of the process. */
function cpuMsOf(file: string): number {
  const program = `await import(${JSON.stringify(file)}); const { userCPUTime, systemCPUTime } = process.resourceUsage(); console.log((userCPUTime + systemCPUTime) / 1e3); process.exit()`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr.slice(-500))
  return Number(stdout)
}

const folder = mkdtempSync(join(tmpdir(), 'messaging-webhooks-cold-start-'))
try {
  const files = { empty: '', bundled: (await bundleFunction()).code, installed: sourceOfFunction() }
  const names = ['empty', 'bundled', 'installed'] as const
  const samples = { empty: [] as number[], bundled: [] as number[], installed: [] as number[] }
  for (const name of names) writeFileSync(join(folder, `${name}.mjs`), files[name])
  // The first process reads every file from the disk; it does not count.
  for (const name of names) cpuMsOf(join(folder, `${name}.mjs`))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const name of names) samples[name].push(cpuMsOf(join(folder, `${name}.mjs`)))
  const shown = ({ median, least, most }: Spread): string =>
    `${median.toFixed(2)} (${least.toFixed(2)}-${most.toFixed(2)})`
  const rows = names.map((name) => [
    name,
    spreadOf(samples[name]).median.toFixed(1),
    shown(ratioOf(samples[name], samples.empty)),
  ])
  const head = ['the function', 'ms CPU', 'times an empty one']
  console.log(textOf({ title: 'A cold start', notes: [], tables: [{ head, rows }], data: rows }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
