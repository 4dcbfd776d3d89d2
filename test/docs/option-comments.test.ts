/** The unit, range and default that a comment states match the schema; a failure shows how the comment must end. */
import { describe, expect, test } from 'vitest'
import { readProjectFile } from '../../docs/markdown.ts'
import { OPTIONS } from '../../docs/options.ts'

test.each(OPTIONS)('the comment of $name', ({ comment, ending }) => {
  expect(comment.endsWith(ending) ? ending : comment).toBe(ending)
})

describe('the comment of a store’s setting names its default', () => {
  const UNITS: Readonly<Record<string, string>> = { MiB: ' * 1024 * 1024', days: '', day: '', ms: '' }

  test.each([
    ['memory', ['memory/store.ts']],
    ['sqlite', ['sqlite/store.ts']],
    ['postgres', ['postgres/settings.ts', 'sql/connecting.ts']],
    ['mysql', ['mysql/settings.ts', 'sql/connecting.ts']],
    ['redis', ['redis/store.ts']],
  ])('%s', (store, files) => {
    const source = readProjectFile(`src/stores/${store}/store.ts`)
    const schemaIn = /const (?:boundsSchema|settingsSchema|SQL_SETTINGS) =(.*?)^}\)?$/ms
    const schema = files.map((file) => schemaIn.exec(readProjectFile(`src/stores/${file}`))?.[1] ?? '').join('')
    const commented = source.matchAll(/Default (.+)\. \*\/\n {2}readonly (\w+)\?: number/g)
    const stated = [...commented].map(([, value = '', name = '']) => {
      const [number = '', unit = ''] = value.split(' ')
      return `${name}: ${number.replaceAll(',', '_')}${unit === '' ? '' : (UNITS[unit] ?? ` of ${unit}`)}`
    })
    const defaults = [...schema.matchAll(/^ {2}(\w+): (?:number|wholeNumber|days|milliseconds).*\.default\((.+)\),$/gm)]
    expect(stated.length).toBeGreaterThan(3)
    expect(stated.toSorted()).toEqual(defaults.map(([, name = '', value = '']) => `${name}: ${value}`).toSorted())
  })
})
