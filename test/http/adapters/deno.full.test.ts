/** Deno's own server, with the program from the package `deno`. */
import { afterAll, describe } from 'vitest'
import { titleWith } from '../../support/skipping.ts'
import { appFolder, binary, removeFolder, startApp } from './app-process.ts'
import { adapterCases, type AdapterOptions } from './cases.ts'

const deno = binary('@deno/*/deno')
const missing =
  deno === undefined ? 'the package `deno` is not installed, or has no program for this machine' : undefined
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

describe.skipIf(missing !== undefined)(titleWith(missing, 'Deno'), () => {
  const folder = appFolder('deno')
  afterAll(() => removeFolder(folder))

  const app = {
    command: deno ?? '',
    args: ['run', '--allow-all', '--no-remote', '--node-modules-dir=manual', 'main.mjs'],
    cwd: folder,
    says: /listening on (\d+)/,
  }
  const starting = (path: string) => (options: AdapterOptions) => startApp(app, options, path)

  adapterCases('Deno.serve', {
    start: starting('/status'),
    parser: { start: starting('/behind-parser'), code: 'body_already_read', says: 'request.clone()' },
    cannot: {
      'a client that never stops sending': 'Deno reads and discards what a client sends after its answer',
    },
  })
})
