/**
 * `npm run bench:start`: CPU time that a process spends to load the receiver and the Fetch entry from one bundled file and to make a
 * handler, as a ratio to a process that loads nothing. Processes alternate; the result is the median of all rounds.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'

const ROUNDS = 30
const ROOT = join(import.meta.dirname, '..')

const APP = `import { createReceiver } from '${join(ROOT, 'dist/index.js')}'
import { receiverHandler } from '${join(ROOT, 'dist/http/fetch.js')}'
export const handle = receiverHandler(createReceiver({ credentials: { authKey: 'of the dashboard' } }), 'status')
`
const TELL = 'const { user, system } = process.cpuUsage()\nconsole.log(user + system)\n'

const folder = mkdtempSync(join(tmpdir(), 'cold-start-'))
try {
  writeFileSync(join(folder, 'app.mjs'), `${APP}${TELL}`)
  const empty = join(folder, 'empty.mjs')
  writeFileSync(empty, TELL)
  await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: { ssr: 'app.mjs', outDir: 'out', minify: true, rolldownOptions: { output: { entryFileNames: 'app.mjs' } } },
  })
  const app = join(folder, 'out/app.mjs')
  const rounds = Array.from({ length: ROUNDS }, () => ({ app: cpuOf(app), empty: cpuOf(empty) }))
  const ratios = rounds.map((round) => round.app / round.empty).sort((one, other) => one - other)
  const shown = (ratio: number | undefined): string => (ratio ?? NaN).toFixed(2)
  console.log(`${ROUNDS} rounds: ${shown(ratios[ROUNDS / 2])} (${shown(ratios[0])}-${shown(ratios.at(-1))})`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** CPU time in microseconds from the start of the process until it prints the value. */
function cpuOf(file: string): number {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', file], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return Number(stdout)
}
