// Natively: the fake host of a test.
import { fake } from "../native.ts";

export default fake("exec");
