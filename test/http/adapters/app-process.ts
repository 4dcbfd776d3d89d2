/**
 * An application in its own folder and process, as users have it: the built package is in its `node_modules`, and each
 * framework is a link. Needs `npm run build`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runProgram } from '../../support/program.ts'
import type { AdapterOptions, StartedAdapter } from './cases.ts'
import type { Observed } from './watched.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** Stops each of them from calling home. */
const SILENT: NodeJS.ProcessEnv = {
  NEXT_TELEMETRY_DISABLED: '1',
  DO_NOT_TRACK: '1',
  DENO_NO_UPDATE_CHECK: '1',
  NODE_OPTIONS: undefined,
  VITEST: undefined,
  NODE_ENV: 'production',
}

/** A program that came with a package for this machine, or undefined. */
export function binary(pattern: string): string | undefined {
  const [found] = globSync(pattern, { cwd: join(ROOT, 'node_modules') })
  return found === undefined ? undefined : join(ROOT, 'node_modules', found)
}

/** A new folder with the files of `test/http/adapters/apps/<name>`, in which these packages are installed. */
export function appFolder(name: string, packages: readonly string[] = []): string {
  const folder = mkdtempSync(join(tmpdir(), `app-${name}-`))
  for (const files of new Set(['apps/any', `apps/${name}`]))
    cpSync(join(import.meta.dirname, files), folder, { recursive: true })
  cpSync(join(import.meta.dirname, 'watched.ts'), join(folder, 'watched.ts'))
  const ours = join(folder, 'node_modules/messaging-webhooks')
  for (const part of ['dist', 'package.json']) cpSync(join(ROOT, part), join(ours, part), { recursive: true })
  for (const each of [...dependencies(), ...packages]) {
    const path = join(folder, 'node_modules', each)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', each), path)
  }
  return folder
}

/** The packages installed with our package. */
function dependencies(): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly dependencies: object }
  return Object.keys(manifest.dependencies)
}

export function removeFolder(folder: string): void {
  // A process that the app started may still write.
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
}

interface AppProcess {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env?: NodeJS.ProcessEnv
  /** The text that it prints before its port. */
  readonly says: RegExp
}

/** Starts it; resolves once it has printed its port. `path` is where the callbacks go. */
export async function startApp(
  app: AppProcess,
  options: AdapterOptions | undefined,
  path = '/status',
): Promise<StartedAdapter & { readonly output: () => string }> {
  const child = spawn(app.command, app.args, {
    cwd: app.cwd,
    env: { ...process.env, ...SILENT, ...app.env, RECEIVER_OPTIONS: JSON.stringify(options) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  let output = ''
  const port = await new Promise<string>((resolve, reject) => {
    function read(chunk: Buffer): void {
      output += chunk.toString()
      const said = app.says.exec(output)?.[1]
      if (said !== undefined) resolve(said)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${app.command} ended with ${code}:\n${output}`)))
  })
  const url = `http://127.0.0.1:${port}`
  return {
    url: `${url}${path}`,
    output: () => output,
    observed: async () => (await (await fetch(`${url}/observed`)).json()) as Observed,
    async close() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Runs a build to its end; if it fails, the error contains its output. */
export async function mustBuild(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const { code, stdout, stderr } = await runProgram(command, args, { cwd, env: { ...SILENT, ...env } })
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
}
