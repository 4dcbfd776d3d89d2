/** Express 4 next to 5, under another name; the parts that the tests use have the same types. */
declare module 'express4' {
  export { default } from 'express'
}
