/** Bun's own server, with the program from the package `bun`. */
import { afterAll, describe } from 'vitest'
import { titleWith } from '../../support/skipping.ts'
import { appFolder, binary, removeFolder, startApp } from './app-process.ts'
import { adapterCases, type AdapterOptions } from './cases.ts'

const bun = binary('@oven/bun-*/bin/bun')
const missing = bun === undefined ? 'the package `bun` is not installed, or has no program for this machine' : undefined
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

describe.skipIf(missing !== undefined)(titleWith(missing, 'Bun'), () => {
  const folder = appFolder('bun')
  afterAll(() => removeFolder(folder))

  const app = { command: bun ?? '', args: ['main.mjs'], cwd: folder, says: /listening on (\d+)/ }
  const starting = (path: string) => (options: AdapterOptions) => startApp(app, options, path)

  adapterCases('Bun.serve', {
    start: starting('/status'),
    parser: { start: starting('/behind-parser'), code: 'body_already_read', says: 'request.clone()' },
  })
})
