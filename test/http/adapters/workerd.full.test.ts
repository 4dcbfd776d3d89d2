/** The runtime of Cloudflare Workers, with a bundled worker and its implementation of Node's modules. */
import { afterAll, beforeAll, describe } from 'vitest'
import { titleWith } from '../../support/skipping.ts'
import { appFolder, binary, removeFolder, startApp } from './app-process.ts'
import { bundle } from './bundled.ts'
import { adapterCases, type AdapterOptions } from './cases.ts'

const workerd = binary('@cloudflare/workerd-*/bin/workerd')
const missing =
  workerd === undefined ? 'the package `workerd` is not installed, or has no program for this machine' : undefined
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

describe.skipIf(missing !== undefined)(titleWith(missing, 'Cloudflare Workers'), () => {
  const folder = appFolder('workerd')
  beforeAll(() => bundle(folder, 'main.mjs', 'worker.mjs'))
  afterAll(() => removeFolder(folder))

  const app = {
    command: workerd ?? '',
    args: ['serve', '--control-fd=1', 'config.capnp'],
    cwd: folder,
    says: /"port":(\d+)/,
  }
  const starting = (path: string) => (options: AdapterOptions) => startApp(app, options, path)

  adapterCases('workerd', {
    start: starting('/status'),
    parser: { start: starting('/behind-parser'), code: 'body_already_read', says: 'request.clone()' },
  })
})
