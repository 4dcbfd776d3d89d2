/** The package as users get it: packed, and installed into an empty project outside this one. */
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from '../support/program.ts'

/** A consumer that uses the files of SQLite, and what it prints. */
export const LIFE = 'sqlite-life.mjs'
export const LIFE_SAYS = `401 204 204 2
quarantine_waiting
message.delivered settled,message.failed dead
["Error: a\\u0000b"]
1
`

export interface EmptyProject {
  readonly folder: string
  /** Installs packages, from their folders, tarballs or names. */
  install(...packages: readonly string[]): Promise<void>
  remove(): Promise<void>
}

/** Runs a tool; its absence or failure is an error. Returns its output. */
export async function mustRun(command: string, args: readonly string[], cwd?: string): Promise<string> {
  const { code, stdout, stderr } = await runProgram(command, args, cwd === undefined ? {} : { cwd })
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
  return stdout
}

/** Packs the output of `npm run build` into `folder`. A build here would disturb other tests. */
export async function pack(folder: string): Promise<string> {
  await mustRun('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder])
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'))
  if (tarball === undefined) throw new Error('npm pack left no tarball.')
  return join(folder, tarball)
}

/** An empty project in the system's folder for temporary files, so that module resolution does not find this project's packages. */
export async function emptyProject(): Promise<EmptyProject> {
  const folder = await mkdtemp(join(tmpdir(), 'messaging-webhooks-consumer-'))
  // npm 11 runs only allowed install scripts, and the package `node` has one.
  const manifest = { name: 'consumer', version: '0.0.0', private: true, allowScripts: { node: true } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await cp(join(import.meta.dirname, 'consumers'), folder, { recursive: true })
  return {
    folder,
    async install(...packages) {
      await mustRun('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...packages], folder)
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
